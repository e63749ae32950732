"""Single pictures: what their headers say, and their pixels as bytes, channel first."""

from __future__ import annotations

import io
from typing import IO, Literal, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from workers.data_import.limits import MOST_PIXELS
from workers.data_import.options import ImportOptions
from workers.errors import DatasetError

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
GREY_MODES, COLOUR_MODES = ("1", "L", "LA"), ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
PILLOW_ERRORS = (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError, EOFError)
"""SyntaxError is what Pillow raises for some damaged PNG files."""


class PictureHeader(NamedTuple):
    width: int
    height: int
    grey: bool


def read_header(file: IO[bytes], name: str) -> PictureHeader:
    with open_picture(file, name) as picture:
        return PictureHeader(*picture.size, picture.mode in GREY_MODES)


def open_picture(file: IO[bytes], name: str) -> Image.Image:
    try:
        picture = Image.open(file, formats=FORMATS)
    except PILLOW_ERRORS as error:
        raise unreadable_picture(name, error) from None
    if picture.width * picture.height > MOST_PIXELS:
        raise DatasetError(f"{name} has {picture.width} x {picture.height} pixels: make it smaller first.")
    if picture.mode not in (*GREY_MODES, *COLOUR_MODES):
        raise DatasetError(f"{name} has more than 8 bits a channel (mode {picture.mode}): save it with 8.")
    return picture


def unreadable_picture(name: str, error: Exception) -> DatasetError:
    reason = "it is no picture" if isinstance(error, UnidentifiedImageError) else str(error).rstrip(".")
    return DatasetError(f"{name} cannot be read: {reason}. Replace it or take it away.")


def decode(file: IO[bytes], name: str, side: int | None, *, grey: bool) -> np.ndarray:
    """Transparency is dropped, of several frames the first one counts. `side`: bilinear, not keeping proportions."""
    with open_picture(file, name) as picture:
        try:
            pixels = picture.convert("L" if grey else "RGB")
            if side is not None and pixels.size != (side, side):
                pixels = pixels.resize((side, side), Image.Resampling.BILINEAR)
        except PILLOW_ERRORS as error:
            raise unreadable_picture(name, error) from None
    array = np.asarray(pixels, np.uint8)
    return array[None] if grey else array.transpose(2, 0, 1)


class PictureScan:
    """What the headers have in common, and the first picture that differs."""

    def __init__(self) -> None:
        self.first: tuple[str, PictureHeader] | None = None
        self.odd: tuple[str, PictureHeader] | None = None
        self.all_grey = True

    def add(self, content: IO[bytes] | bytes, name: str) -> None:
        header = read_header(io.BytesIO(content) if isinstance(content, bytes) else content, name)
        self.all_grey &= header.grey
        if self.first is None:
            self.first = name, header
        elif self.odd is None and header[:2] != self.first[1][:2]:
            self.odd = name, header

    def grey(self, colour: Literal["auto", "grey", "rgb"]) -> bool:
        return self.all_grey if colour == "auto" else colour == "grey"

    def shape(self, options: ImportOptions) -> tuple[int, ...]:
        assert self.first is not None
        side, (width, height, _) = options.image_size, self.first[1]
        return 1 if self.grey(options.colour) else 3, side or height, side or width

    def problem(self, options: ImportOptions) -> str | None:
        if self.odd is None or self.first is None or options.image_size is not None:
            return None
        (name, first), (odd, other) = self.first, self.odd
        return (
            f"{name} is {first.width} x {first.height} pixels and {odd} is {other.width} x {other.height}: give an "
            "image size to which all are brought."
        )
