import io

import numpy as np
from PIL import Image

from workers.client_data.pictures import as_pixels, encode_png, picture_grid


def read(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)))


def test_grey_and_colour_pictures_are_read_back_as_they_were() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    colour = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    assert np.array_equal(read(encode_png(grey)), grey)
    assert np.array_equal(read(encode_png(colour)), colour)


def test_floats_are_clipped_to_what_a_picture_can_show() -> None:
    assert as_pixels(np.array([[[[-0.2, 0.5, 1.7]]]])).tolist() == [[[0, 128, 255]]]


def test_channels_move_last_and_a_second_one_is_not_shown() -> None:
    assert as_pixels(np.zeros((5, 3, 2, 4), np.uint8)).shape == (5, 2, 4, 3)
    assert as_pixels(np.zeros((5, 2, 2, 4), np.uint8)).shape == (5, 2, 4)


def test_a_sprite_leaves_a_gap_and_stays_white_where_nothing_is() -> None:
    pictures = np.array([[[1]], [[2]], [[3]]], np.uint8)
    assert picture_grid(pictures, 2).tolist() == [[1, 255, 2], [255, 255, 255], [3, 255, 255]]
