"""Folders of pictures and Hugging Face folders: pixels that were drawn by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.workers.data_import.own_data import import_own, own, preview, refusal, write_picture

SAVED = Path(__file__).parent / "saved_by_datasets"
"""Written by Hugging Face's library (datasets 5.2.0): 4 x 4 grey pictures, all of whose pixels are the row's number."""
RED, BLUE = [255, 0, 0], [0, 0, 255]


def test_folders_are_classes_and_pixels_are_kept(tmp_path: Path) -> None:
    write_picture(tmp_path / "pets" / "dog" / "1.png", [[1, 2], [3, 4]])
    write_picture(tmp_path / "pets" / "cat" / "deep" / "2.bmp", [[5, 6], [7, 8]])
    (tmp_path / "pets" / "notes.txt").write_text("of mine")
    (tmp_path / "pets" / ".hidden").write_text("")
    arrays, manifest = import_own(tmp_path / "pets", test_share=0)
    assert arrays.train_x.tolist() == [[[[5, 6], [7, 8]]], [[[1, 2], [3, 4]]]]
    assert (arrays.train_x.dtype, arrays.train_y.tolist()) == (np.uint8, [0, 1])
    assert (manifest.class_names, manifest.test) == (("cat", "dog"), 0)
    shown = preview(tmp_path / "pets", test_share=0)
    assert (shown.kind, shown.rows, shown.shape, shown.bytes) == ("pictures in folders", 2, (1, 2, 2), 2 * 12)
    assert shown.notes == ("1 files that are no pictures are left out, such as notes.txt.",)


def test_folders_train_and_test_are_the_split(tmp_path: Path) -> None:
    for part, name, value in [("train", "a", 1), ("valid", "b", 2), ("test", "b", 3)]:
        write_picture(tmp_path / "set" / part / name / "x.png", [[value]])
    arrays, _ = import_own(tmp_path / "set")
    assert (arrays.train_x.ravel().tolist(), arrays.train_y.tolist()) == ([1, 2], [0, 1])
    assert (arrays.test_x.ravel().tolist(), arrays.test_y.tolist()) == ([3], [1])
    write_picture(tmp_path / "set" / "test" / "c" / "x.png", [[4]])
    assert preview(tmp_path / "set").problems == (
        "There is no picture of 'c' to train on: every class of test needs its folder in train.",
    )


def test_one_picture_in_colour_makes_all_colour_unless_grey_is_asked_for(tmp_path: Path) -> None:
    write_picture(tmp_path / "set" / "a" / "1.png", [[RED, BLUE]])
    write_picture(tmp_path / "set" / "b" / "2.png", [[10, 20]])
    arrays, _ = import_own(tmp_path / "set", test_share=0)
    assert arrays.train_x.tolist() == [[[[255, 0]], [[0, 0]], [[0, 255]]], [[[10, 20]]] * 3]
    arrays, _ = import_own(tmp_path / "set", test_share=0, colour="grey")
    # 0.299 of red and 0.114 of blue
    assert arrays.train_x.tolist() == [[[[76, 29]]], [[[10, 20]]]]


def test_pictures_are_brought_to_one_size_where_that_is_asked_for(tmp_path: Path) -> None:
    write_picture(tmp_path / "set" / "a" / "1.png", [[0, 100], [100, 200]])
    write_picture(tmp_path / "set" / "b" / "2.png", [[7]])
    assert refusal(tmp_path / "set") == (
        "a/1.png is 2 x 2 pixels and b/2.png is 1 x 1: give an image size to which all are brought."
    )
    arrays, _ = import_own(tmp_path / "set", test_share=0, image_size=1)
    assert arrays.train_x.ravel().tolist() == [100, 7]


def test_pictures_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    write_picture(folder / "a" / "1.png", [[1]])
    assert "set has only one class, 'a'" in refusal(folder)
    (folder / "b").mkdir()
    (folder / "b" / "no.png").write_bytes(b"not a picture")
    assert refusal(folder) == "b/no.png cannot be read: it is no picture. Replace it or take it away."
    whole = write_picture(folder / "b" / "no.png", np.arange(4096).reshape(64, 64) % 251).read_bytes()
    (folder / "b" / "no.png").write_bytes(whole[: len(whole) // 2])
    assert "b/no.png cannot be read: " in refusal(folder, image_size=1)
    Image.fromarray(np.ones((1, 1), np.uint16)).save(folder / "b" / "no.png")
    assert "b/no.png has more than 8 bits a channel" in refusal(folder)
    write_picture(folder / "top.png", [[1]])
    assert "top.png lies in no folder of a class" in refusal(folder)


def test_what_is_neither_table_nor_picture_and_what_is_both_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert "a.txt is no table. Give a .csv" in refusal(tmp_path / "a.txt")
    assert "holds neither tables nor pictures" in refusal(tmp_path)
    write_picture(tmp_path / "a" / "1.png", [[1]])
    (tmp_path / "t.csv").write_text("a,y\n")
    assert "has tables (t.csv) and pictures (1.png): give one of them" in refusal(tmp_path)
    write_picture(tmp_path / "only" / "a" / "1.png", [[1]])
    assert "which have no columns: leave target empty" in refusal(tmp_path / "only", target="y")
    assert "does not exist" in refusal(tmp_path / "nowhere")


def test_a_link_that_leads_out_of_the_allowed_folders_is_not_opened(tmp_path: Path) -> None:
    secret = write_picture(tmp_path / "secret.png", [[1]])
    write_picture(tmp_path / "imports" / "set" / "a" / "1.png", [[1]])
    (tmp_path / "imports" / "set" / "a" / "2.png").symlink_to(secret)
    with pytest.raises(Exception, match="leads out of the folders that may be imported from"):
        own().import_path(str(tmp_path / "imports" / "set"), within=[tmp_path / "imports"])


@pytest.mark.parametrize("folder", ["disk", "shards"])
def test_what_hugging_faces_library_saved_is_imported_with_the_names_of_its_classes(folder: str) -> None:
    arrays, manifest = import_own(SAVED / folder, target="label")
    assert arrays.train_x.shape == (6, 1, 4, 4)
    assert arrays.train_x[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([0, 1, 0, 1, 0, 1], [0, 1])
    assert manifest.class_names == ("cat", "dog")
    assert manifest.checksum[:12] == import_own(SAVED / "disk", target="label")[1].checksum[:12]


def test_a_cache_beside_saved_data_is_left_alone(tmp_path: Path) -> None:
    shutil.copytree(SAVED / "disk", tmp_path / "disk")
    shutil.copy(tmp_path / "disk" / "test" / "data-00000-of-00001.arrow", tmp_path / "disk" / "train" / "cache-1.arrow")
    assert import_own(tmp_path / "disk", target="label")[1].train == 6
    (tmp_path / "disk" / "train" / "state.json").write_text("[]")
    with pytest.raises(Exception, match=r"state\.json is not what save_to_disk writes"):
        preview(tmp_path / "disk")


def test_pictures_that_are_only_named_in_a_table_are_refused_with_their_row(tmp_path: Path) -> None:
    table = pa.table({"image": [{"bytes": None, "path": "a.png"}], "y": [0]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert "t.parquet, row 1, column 'image': no picture is in the table itself" in refusal(
        tmp_path / "t.parquet", target="y"
    )
