"""What a person may say about an import; the page's form, REST and the command line read the same fields."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workers.errors import Problem, SpecError

NAME = r"^([a-z0-9][a-z0-9_-]*)?$"
COLUMN_LENGTH = 200


class ImportOptions(BaseModel):
    """Everything has a default but the target, without which only a preview and a folder of pictures can do."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    name: str = Field("", pattern=NAME, max_length=60)
    """What a study's `dataset.set` calls it: small letters, digits, - and _. Empty: the name of the file or folder."""
    target: str = Field("", max_length=COLUMN_LENGTH)
    """The column that holds the class. A folder of pictures needs none: its folders are the classes."""
    leave_out: tuple[str, ...] = ()
    """Columns that are no features, such as numbers of rows."""
    categories: tuple[str, ...] = ()
    """Columns of numbers that are codes: one-hot encoded like words instead of standardised."""
    client: str = Field("", max_length=COLUMN_LENGTH)
    """The column that names the client of each row; these become the natural clients."""
    split: str = Field("", max_length=COLUMN_LENGTH)
    """The column that says train, validation or test; validation rows are trained on. Empty: a share is drawn."""
    test_share: float = Field(0.2, ge=0, lt=1)
    """Drawn for the test set, of each client where there is a client column. 0: none, clients hold parts out."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Of the draw: the same seed gives the same test set."""
    missing: Literal["refuse", "fill"] = "refuse"
    """What becomes of missing features. fill: the mean of the training part; of words a category of their own."""
    standardise: bool = True
    """Numbers minus the mean of the training part, divided by its standard deviation."""
    image_size: int | None = Field(None, ge=1, le=1024)
    """Pictures are made so many pixels wide and high. Empty: as they are, all of the same size."""
    colour: Literal["auto", "grey", "rgb"] = "auto"
    """Of pictures. auto: grey where all of them are."""


def parse_options(data: dict[str, Any]) -> ImportOptions:
    """Or a `SpecError` that names each field and what is wrong with it."""
    try:
        return ImportOptions.model_validate(data)
    except ValidationError as error:
        problems = [Problem(".".join(map(str, each["loc"])), f"{each['msg']}.") for each in error.errors()]
        text = " ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise SpecError(problems, text) from None
