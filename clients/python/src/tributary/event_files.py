"""TensorBoard's event files, read and written without TensorFlow: records with checksums, and the few fields of
TensorFlow's `Event` message that scalars need.

A record is its length, the length's checksum, the message and the message's checksum (CRC-32C, masked).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

VERSION = "brain.Event:2"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FLOAT, DOUBLE = 1, 2
"""TensorFlow's numbers for the types of a scalar that is stored as a tensor."""


class EventFileError(Exception):
    """A file of events that is damaged; the message has the place."""


@dataclass(frozen=True)
class ScalarEvent:
    wall_time: float
    step: int
    tag: str
    value: float


def make_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


TABLE = make_table()


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_records(path: Path) -> Iterator[bytes]:
    """A last record that is not whole yet, as a writer at work leaves it, is not there."""
    with path.open("rb") as file:
        while len(head := file.read(12)) == 12:
            length, crc = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != crc:
                raise EventFileError(
                    f"{path}: damaged before byte {file.tell()}; a record's length has another checksum."
                )
            body = file.read(length + 4)
            if len(body) < length + 4:
                return
            if masked_crc(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
                raise EventFileError(f"{path}: damaged before byte {file.tell()}; a record has another checksum.")
            yield body[:-4]


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Of one protobuf message: each field's number with its content, fixed-size ones as bytes."""
    place = 0
    while place < len(data):
        key, place = read_varint(data, place)
        kind = key & 7
        if kind == VARINT:
            number, place = read_varint(data, place)
            yield key >> 3, number
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(kind, 0)
        if kind == BYTES:
            size, place = read_varint(data, place)
        elif not size:
            raise EventFileError("A message has a field of a kind that TensorFlow does not write.")
        yield key >> 3, data[place : place + size]
        place += size


def messages(data: bytes, number: int) -> Iterator[bytes]:
    return (content for field, content in fields(data) if field == number and isinstance(content, bytes))


def read_scalars(path: Path) -> Iterator[ScalarEvent]:
    for record in read_records(path):
        try:
            yield from scalars_of(record)
        except (IndexError, struct.error, UnicodeDecodeError):
            raise EventFileError(f"{path}: a record is no event of TensorFlow's.") from None


def scalars_of(record: bytes) -> Iterator[ScalarEvent]:
    wall_time, step = 0.0, 0
    for number, content in fields(record):
        if number == 1 and isinstance(content, bytes):
            (wall_time,) = struct.unpack("<d", content)
        elif number == 2 and isinstance(content, int):
            step = content - (1 << 64) if content >> 63 else content
    for summary in messages(record, 5):
        for value in messages(summary, 1):
            tag = b"".join(messages(value, 1)).decode()
            scalar = scalar_value(value)
            if scalar is not None:
                yield ScalarEvent(wall_time, step, tag, scalar)


def scalar_value(value: bytes) -> float | None:
    """Histograms, pictures, texts and tensors with several numbers are none."""
    for content in messages(value, 2):
        return float(struct.unpack("<f", content)[0])
    for tensor in messages(value, 8):
        kind = next((content for number, content in fields(tensor) if number == 1), 0)
        size, letter = {FLOAT: (4, "<f"), DOUBLE: (8, "<d")}.get(kind if isinstance(kind, int) else 0, (0, ""))
        for place in (4, kind_field(kind)):
            content = b"".join(messages(tensor, place))
            if size and len(content) == size:
                return float(struct.unpack(letter, content)[0])
    return None


def kind_field(kind: int | bytes) -> int:
    return 5 if kind == FLOAT else 6


def write_events(path: Path, events: Iterable[ScalarEvent]) -> None:
    """The file appears when it is whole. Values are 32-bit floats, as TensorBoard's own writers have them."""
    part = path.with_name(".part")
    with part.open("wb") as file:
        file.write(as_record(float_field(1, 0.0) + bytes_field(3, VERSION.encode())))
        for each in events:
            scalar = bytes_field(1, each.tag.encode()) + b"\x15" + struct.pack("<f", each.value)
            step = varint(2 << 3 | VARINT) + varint(each.step)
            file.write(as_record(float_field(1, each.wall_time) + step + bytes_field(5, bytes_field(1, scalar))))
    part.replace(path)


def as_record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked_crc(length)) + message + struct.pack("<I", masked_crc(message))


def float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def bytes_field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
