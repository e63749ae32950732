"""Notes as REST answers with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from experiments.api.schemas import Answer, example_config
from experiments.models import Note
from experiments.notes.services import TEXT_LENGTH

NOTE: dict[str, Any] = {
    "id": 4,
    "study": 12,
    "run": None,
    "author": "mira",
    "text": "The learning rate was **ten times** too high.",
    "version": 2,
    "created": "2026-03-01T12:00:00Z",
    "edited": "2026-03-01T12:10:00Z",
}


class NoteAnswer(Answer):
    model_config = example_config(**NOTE)

    id: int
    """Its number."""
    study: int | None
    """The study it is about; null where it is about a run."""
    run: int | None
    """The run it is about; null where it is about a study."""
    author: str
    """Who wrote it."""
    text: str
    """Markdown, as written."""
    version: int
    """How often it was saved: send it with an edit."""
    created: datetime
    """When it was written."""
    edited: datetime | None
    """When it was last changed; null where never."""


class NoteText(Answer):
    model_config = ConfigDict(
        extra="forbid", use_attribute_docstrings=True, json_schema_extra={"examples": [{"text": NOTE["text"]}]}
    )

    text: str = Field(max_length=TEXT_LENGTH)
    """Markdown; HTML in it is shown as text."""


class NoteEdit(NoteText):
    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={"examples": [{"text": NOTE["text"], "version": 1}]},
    )

    version: int = Field(ge=1, lt=2**31)
    """The version that was read: where there is a newer one, nothing is saved (409)."""


def note_answer(note: Note) -> dict[str, Any]:
    return {
        "id": note.pk,
        "study": note.study_id,
        "run": note.run_id,
        "author": note.author.username,
        "text": note.text,
        "version": note.version,
        "created": note.created,
        "edited": note.edited,
    }
