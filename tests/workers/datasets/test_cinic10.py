from pathlib import Path

import pytest
from PIL import Image

from workers.catalog import load_catalog
from workers.errors import DatasetError

CINIC = load_catalog().datasets["cinic10"]


def picture(path: Path, colour: tuple[int, int, int], side: int = 32) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (side, side), colour).save(path)


def test_train_and_valid_together_are_the_training_set(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "truck" / "b.png", (1, 2, 3))
    picture(tmp_path / "train" / "airplane" / "a.png", (4, 5, 6))
    picture(tmp_path / "valid" / "cat" / "c.png", (7, 8, 9))
    picture(tmp_path / "test" / "dog" / "d.png", (10, 11, 12))
    CINIC.import_from(tmp_path)
    arrays = CINIC.load(CINIC.Params())
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([0, 9, 3], [5])
    assert arrays.train_x[:, :, 0, 0].tolist() == [[4, 5, 6], [1, 2, 3], [7, 8, 9]]
    assert arrays.test_x.shape == (1, 3, 32, 32)


def test_a_grey_picture_gets_three_channels(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "cat" / "a.png", (0, 0, 0))
    picture(tmp_path / "valid" / "cat" / "a.png", (0, 0, 0))
    (tmp_path / "test" / "cat").mkdir(parents=True)
    Image.new("L", (32, 32), 77).save(tmp_path / "test" / "cat" / "a.png")
    CINIC.import_from(tmp_path)
    assert CINIC.load(CINIC.Params()).test_x[0, :, 0, 0].tolist() == [77, 77, 77]


def test_pictures_of_another_size_and_rubbish_are_refused(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        picture(tmp_path / split / "cat" / "a.png", (0, 0, 0), side=31)
    with pytest.raises(DatasetError, match=r"a\.png has 31 x 31 pixels instead of 32 x 32"):
        CINIC.import_from(tmp_path)
    (tmp_path / "train" / "cat" / "a.png").write_bytes(b"rubbish")
    with pytest.raises(DatasetError, match=r"train/cat/a\.png is not a picture"):
        CINIC.import_from(tmp_path)


def test_a_missing_split_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "cat" / "a.png", (0, 0, 0))
    with pytest.raises(DatasetError, match="No valid/<class>"):
        CINIC.import_from(tmp_path)
