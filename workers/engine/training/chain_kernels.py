"""Training and scoring of chains of linear layers, compiled: client after client, each from its first step to its last.

A client's parameters stay in the cache while it trains, and no other client is in its sums: its numbers are the same in
every stack, on every thread. Layers, samples and gradients are rows of floats that end in zeros up to whole vectors, of
LANES floats: what the processor computes at once.

numba compiles what is written in Python; what decides its speed here is how many sums a loop keeps in registers, which
Python cannot say. So the innermost loops, `outer_tile` and `dot_tile`, are written in LLVM's instructions, for every
size that registers hold; they take addresses. All is in one file because numba compiles a function anew when its own
file has changed, and not when another has that it calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic


class Sizes(NamedTuple):
    """`rows` x `vectors` sums of an outer tile, `dots` sums of a dot tile: no more than registers hold."""

    lanes: int
    rows: int
    vectors: int
    dots: tuple[int, int]


def sizes_of(has_512_bits: bool) -> Sizes:
    """32 registers of 16 floats with AVX-512; elsewhere at least 16 of 8, or twice as many of 4."""
    return Sizes(16, 8, 2, (4, 5)) if has_512_bits else Sizes(8, 4, 2, (3, 3))


SIZES = sizes_of(bool(llvmlite.binding.get_host_cpu_features().get("avx512f")))
LANES = SIZES.lanes
FLOAT_BYTES = 4

INT, FLOAT = ir.IntType(64), ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)


def integer(value: int) -> ir.Constant:
    return ir.Constant(INT, value)


def same_floats(value: float) -> ir.Constant:
    return ir.Constant(VECTOR, [value] * LANES)


class Writer:
    """Writes instructions on vectors of floats."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def address(self, base: ir.Value, row: int, row_bytes: ir.Value, vector: int = 0) -> ir.Value:
        at_row = self.builder.add(base, self.builder.mul(row_bytes, integer(row)))
        return self.builder.add(at_row, integer(vector * LANES * FLOAT_BYTES))

    def load(self, address: ir.Value, kind: ir.Type = VECTOR) -> ir.Value:
        value = self.builder.load(self.builder.inttoptr(address, kind.as_pointer()))
        value.align = FLOAT_BYTES
        return value

    def store(self, value: ir.Value, address: ir.Value) -> None:
        self.builder.store(value, self.builder.inttoptr(address, value.type.as_pointer())).align = FLOAT_BYTES

    def prefetch(self, address: ir.Value) -> None:
        """Nothing happens where there is nothing to read."""
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        read, keep, data = (ir.Constant(flag, number) for number in (0, 3, 1))
        self.builder.call(function, [self.builder.inttoptr(address, byte), read, keep, data])

    def repeat(self, value: ir.Value) -> ir.Value:
        first = self.builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        return self.shuffle(first, first, [0] * LANES)

    def shuffle(self, one: ir.Value, other: ir.Value, places: Sequence[int]) -> ir.Value:
        kind = ir.VectorType(ir.IntType(32), len(places))
        return self.builder.shuffle_vector(one, other, ir.Constant(kind, list(places)))

    def call(self, name: str, *values: ir.Value) -> ir.Value:
        """An LLVM intrinsic that is the same for every lane."""
        kind = ir.FunctionType(VECTOR, [VECTOR] * len(values))
        name = f"llvm.{name}.v{LANES}f32"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)  # type: ignore[no-untyped-call]
        return self.builder.call(function, values)

    def multiply_add(self, one: ir.Value, other: ir.Value, sum_: ir.Value) -> ir.Value:
        return self.call("fma", one, other, sum_)

    def repeat_times(
        self,
        count: ir.Value,
        starts: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """A loop, once at the least: what `body` makes of its values is given to it again, and last returned."""
        before, loop = self.builder.block, self.builder.append_basic_block("loop")
        after = self.builder.append_basic_block("after")
        self.builder.branch(loop)
        self.builder.position_at_end(loop)
        at = self.builder.phi(INT)
        at.add_incoming(integer(0), before)
        values = [self.builder.phi(start.type) for start in starts]
        results = list(body(values))
        following = self.builder.add(at, integer(1))
        at.add_incoming(following, loop)
        for value, start, result in zip(values, starts, results, strict=True):
            value.add_incoming(start, before)
            value.add_incoming(result, loop)
        self.builder.cbranch(self.builder.icmp_signed("<", following, count), loop, after)
        self.builder.position_at_end(after)
        return results


def by_size(
    builder: ir.IRBuilder, sizes: Sequence[tuple[int, int]], own: Sequence[ir.Value], write: Callable[[int, int], None]
) -> None:
    """Instructions for each of these sizes, of which those of its `own` are gone through."""
    number = builder.add(builder.mul(own[0], integer(100)), own[1])
    end = builder.append_basic_block("end")
    switch = builder.switch(number, end)
    for first, second in sizes:
        block = builder.append_basic_block(f"size_{first}_{second}")
        switch.add_case(integer(100 * first + second), block)
        builder.position_at_end(block)
        write(first, second)
        builder.branch(end)
    builder.position_at_end(end)


def define_outer_tile(  # type: ignore[no-untyped-def]
    typingctx, rows, vectors, into, into_row, left, left_row, left_step, right, right_row, count, factor
):
    """`into[m, :] = factor * into[m, :] + sum over k of left[m, k] * right[k, :]` for so many rows and vectors.

    `left[m, k]` is at `left + m * left_row + k * left_step`, all in bytes. Without a factor `into` is not read.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> Any:
        writer = Writer(builder)
        sizes = [(r, v) for r in range(1, SIZES.rows + 1) for v in range(1, SIZES.vectors + 1)]
        by_size(builder, sizes, arguments[:2], lambda r, v: write_outer_tile(writer, r, v, arguments[2:]))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10, types.float32), write


outer_tile: Any = intrinsic(define_outer_tile)


def write_outer_tile(writer: Writer, rows: int, vectors: int, arguments: Sequence[ir.Value]) -> None:
    into, into_row, left, left_row, left_step, right, right_row, count, factor = arguments
    builder = writer.builder
    places = [writer.address(into, row, into_row, vector) for row in range(rows) for vector in range(vectors)]

    def add(values: Sequence[ir.Value]) -> list[ir.Value]:
        left_at, right_at, *sums = values
        across = [writer.load(writer.address(right_at, 0, right_row, vector)) for vector in range(vectors)]
        results = []
        for row in range(rows):
            down = writer.repeat(writer.load(writer.address(left_at, row, left_row), FLOAT))
            own = sums[row * vectors : (row + 1) * vectors]
            results += [writer.multiply_add(down, each, sum_) for each, sum_ in zip(across, own, strict=True)]
        return [builder.add(left_at, left_step), builder.add(right_at, right_row), *results]

    _, _, *sums = writer.repeat_times(count, [left, right, *read_scaled(writer, places, factor)], add)
    for place, sum_ in zip(places, sums, strict=True):
        writer.store(sum_, place)


def read_scaled(writer: Writer, places: Sequence[ir.Value], factor: ir.Value) -> list[ir.Value]:
    """What is there times the factor; zeros, whatever is there, where that is 0."""
    builder = writer.builder
    before, reading = builder.block, builder.append_basic_block("reading")
    ready = builder.append_basic_block("ready")
    builder.cbranch(builder.fcmp_ordered("==", factor, ir.Constant(FLOAT, 0.0)), ready, reading)
    builder.position_at_end(reading)
    factors = writer.repeat(factor)
    scaled = [builder.fmul(writer.load(place), factors) for place in places]
    builder.branch(ready)
    builder.position_at_end(ready)
    sums = [builder.phi(VECTOR) for _ in places]
    for sum_, value in zip(sums, scaled, strict=True):
        sum_.add_incoming(same_floats(0.0), before)
        sum_.add_incoming(value, reading)
    return sums


def define_dot_tile(  # type: ignore[no-untyped-def]
    typingctx, rows, columns, into, into_row, left, left_row, right, right_row, vectors, keep
):
    """`into[m, n] = keep * into[m, n] + sum over k of left[m, k] * right[n, k]` for so many m and n.

    k has `vectors` vectors; `keep` is 0 or 1, and with 0 `into` is not read.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> Any:
        writer, (most_rows, most_columns) = Writer(builder), SIZES.dots
        sizes = [(r, c) for r in range(1, most_rows + 1) for c in range(1, most_columns + 1)]
        by_size(builder, sizes, arguments[:2], lambda r, c: write_dot_tile(writer, r, c, arguments[2:]))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10), write


dot_tile: Any = intrinsic(define_dot_tile)


def write_dot_tile(writer: Writer, rows: int, columns: int, arguments: Sequence[ir.Value]) -> None:
    into, into_row, left, left_row, right, right_row, vectors, keep = arguments
    builder, width = writer.builder, integer(LANES * FLOAT_BYTES)

    def add(values: Sequence[ir.Value]) -> list[ir.Value]:
        left_at, right_at, *sums = values
        across = [writer.load(writer.address(right_at, column, right_row)) for column in range(columns)]
        results = []
        for row in range(rows):
            down = writer.load(writer.address(left_at, row, left_row))
            writer.prefetch(writer.address(left_at, rows + row, left_row))
            own = sums[row * columns : (row + 1) * columns]
            results += [writer.multiply_add(down, each, sum_) for each, sum_ in zip(across, own, strict=True)]
        return [builder.add(left_at, width), builder.add(right_at, width), *results]

    zeros = [same_floats(0.0)] * (rows * columns)
    _, _, *sums = writer.repeat_times(vectors, [left, right, *zeros], add)
    results = totals(writer, sums)
    places = [
        builder.add(writer.address(into, row, into_row), integer(column * FLOAT_BYTES))
        for row in range(rows)
        for column in range(columns)
    ]
    summed, adding = builder.block, builder.append_basic_block("adding")
    ready = builder.append_basic_block("ready")
    builder.cbranch(builder.icmp_signed("==", keep, integer(0)), ready, adding)
    builder.position_at_end(adding)
    added = [builder.fadd(writer.load(place, FLOAT), each) for place, each in zip(places, results, strict=True)]
    builder.branch(ready)
    builder.position_at_end(ready)
    values = [builder.phi(FLOAT) for _ in places]
    for value, alone, more in zip(values, results, added, strict=True):
        value.add_incoming(alone, summed)
        value.add_incoming(more, adding)
    for value, place in zip(values, places, strict=True):
        writer.store(value, place)


def totals(writer: Writer, sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sum of each vector's lanes. Vectors are halved together: as many at a time as one vector has lanes."""
    results: list[ir.Value] = []
    for first in range(0, len(sums), LANES):
        group = list(sums[first : first + LANES])
        count = len(group)
        width = LANES
        while width > 1:
            # Two vectors of sums with `width` lanes left for each of their owners become one with half of that.
            pairs = [group[at : at + 2] for at in range(0, len(group), 2)]
            group = [halve(writer, pair[0], pair[-1], width) for pair in pairs]
            width //= 2
        places = owners(count)
        one = group[0]
        results += [writer.builder.extract_element(one, ir.Constant(ir.IntType(32), place)) for place in places]
    return results


def halve(writer: Writer, one: ir.Value, other: ir.Value, width: int) -> ir.Value:
    """Lanes lie in runs of `width`, one run for each owner: of every run the first half and the second are added."""
    half = width // 2
    starts = range(0, LANES, width)
    firsts = [start + lane for start in starts for lane in range(half)]
    from_both = [*firsts, *[LANES + place for place in firsts]]
    low = writer.shuffle(one, other, from_both)
    high = writer.shuffle(one, other, [place + half for place in from_both])
    return writer.builder.fadd(low, high)


def owners(count: int) -> list[int]:
    """The lane in which the sum of each of so many vectors ends, found by halving names in place of numbers."""
    group: list[list[int]] = [[number] * LANES for number in range(count)]
    width = LANES
    while width > 1:
        pairs = [group[at : at + 2] for at in range(0, len(group), 2)]
        starts = range(0, LANES, width)
        firsts = [start + lane for start in starts for lane in range(width // 2)]
        group = [[pair[0][place] for place in firsts] + [pair[-1][place] for place in firsts] for pair in pairs]
        width //= 2
    return [group[0].index(number) for number in range(count)]


HIGHEST_POWER, LOWEST = 127, -87.0
"""Below that exp is taken for 0: it would not be a normal number."""
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
"""ln 2 in two parts, of which the first has few digits: multiples of it are exact."""
TAYLOR = (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)


def define_exponentials(typingctx, at, vectors):  # type: ignore[no-untyped-def]
    """exp of numbers that are at most 0, in place: 2^n times a polynomial of what is left, to 2 in 10^7. NaN stays."""

    def write(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> Any:
        writer = Writer(builder)

        def replace(values: Sequence[ir.Value]) -> list[ir.Value]:
            writer.store(exponential(writer, writer.load(values[0])), values[0])
            return [builder.add(values[0], integer(LANES * FLOAT_BYTES))]

        writer.repeat_times(arguments[1], [arguments[0]], replace)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), write


exponentials: Any = intrinsic(define_exponentials)


def exponential(writer: Writer, x: ir.Value) -> ir.Value:
    builder, whole = writer.builder, ir.VectorType(ir.IntType(32), LANES)
    vanishes = builder.fcmp_ordered("<", x, same_floats(LOWEST))
    is_odd = builder.fcmp_unordered(">", x, same_floats(0.0))
    small = builder.select(builder.or_(vanishes, is_odd), same_floats(0.0), x)
    power = writer.call("rint", builder.fmul(small, same_floats(1.4426950408889634)))
    rest = writer.multiply_add(power, same_floats(-LN2_HIGH), small)
    rest = writer.multiply_add(power, same_floats(-LN2_LOW), rest)
    value: ir.Value = same_floats(TAYLOR[-1])
    for coefficient in TAYLOR[-2::-1]:
        value = writer.multiply_add(value, rest, same_floats(coefficient))
    exponent = builder.add(builder.fptosi(power, whole), ir.Constant(whole, [HIGHEST_POWER] * LANES))
    scale = builder.bitcast(builder.shl(exponent, ir.Constant(whole, [23] * LANES)), VECTOR)
    result = builder.select(vanishes, same_floats(0.0), builder.fmul(value, scale))
    return builder.select(is_odd, x, result)


# From here on Python that numba compiles.

ROWS, VECTORS = SIZES.rows, SIZES.vectors
DOT_ROWS, DOT_COLUMNS = SIZES.dots
BLOCK = 64
"""Samples that are scored at once: what is between their layers stays in the cache."""
CACHE, PIECE, PIECE_ROWS = 2**18, 512, 64
"""Bytes of a matrix that stays in a core's cache beside others, and what one that is larger is cut into."""


def compiled(function: Callable[..., Any]) -> Any:
    """Kept beside the source or in the user's cache, whichever can be written; sums may be of several at a time."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder for it
        return njit(**options)(function)


class Layers(NamedTuple):
    """`widths[l]` values go into layer l and `widths[l + 1]` come out, through a ReLU where `relu[l]`.

    In a padded row of parameters weights begin at `weights[l]`, `strides[l]` floats for each value that comes out, and
    biases at `biases[l]`.
    """

    widths: np.ndarray
    relu: np.ndarray
    strides: np.ndarray
    weights: np.ndarray
    biases: np.ndarray
    size: int


class Batches(NamedTuple):
    """Where each client's batches are: `order` is places in the samples, as `Schedule` lays them out."""

    order: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    strides: np.ndarray
    sizes: np.ndarray
    per_epoch: np.ndarray
    steps: np.ndarray
    batch_size: int


class Numbers(NamedTuple):
    """Of the optimizer, as `Update` has them, and `pull` as `ChainState` has it."""

    lr: float
    weight_decay: float
    momentum: float
    nesterov: bool
    adam: bool
    decoupled: bool
    beta1: float
    beta2: float
    eps: float
    pull: float


@compiled
def address(array: np.ndarray) -> np.int64:
    return np.int64(array.ctypes.data)


def whole_vectors(count: int) -> int:
    return -(-count // LANES) * LANES


def layers_of(widths: list[int], relu: list[bool]) -> Layers:
    strides = [whole_vectors(width) for width in widths]
    weights, biases, at = [], [], 0
    for out, stride in zip(widths[1:], strides, strict=False):
        weights.append(at)
        biases.append(at + out * stride)
        at = biases[-1] + whole_vectors(out)
    return Layers(whole(widths), np.array(relu), whole(strides), whole(weights), whole(biases), at)


def whole(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


@compiled
def outer_piece(
    into: int,
    into_row: int,
    rows: int,
    left: int,
    left_row: int,
    left_step: int,
    right: int,
    right_row: int,
    count: int,
    floats: int,
    factor: float,
) -> None:
    tiles = -(-rows // ROWS)
    vectors = floats // LANES
    for vector in range(0, vectors, VECTORS):
        across = min(VECTORS, vectors - vector)
        shift = 4 * vector * LANES
        for tile in range(tiles):
            first = rows * tile // tiles
            outer_tile(
                rows * (tile + 1) // tiles - first,
                across,
                into + shift + 4 * first * into_row,
                4 * into_row,
                left + 4 * first * left_row,
                4 * left_row,
                4 * left_step,
                right + shift,
                4 * right_row,
                count,
                factor,
            )


@compiled
def outer(
    into: int,
    into_row: int,
    rows: int,
    left: int,
    left_row: int,
    left_step: int,
    right: int,
    right_row: int,
    count: int,
    floats: int,
    factor: float,
) -> None:
    """As `outer_tile`, of any size; steps in floats.

    What is small stays in the cache, and a strip of `right` serves all rows. Of what is not, pieces are gone through.
    """
    if 4 * max(rows, count) * floats <= CACHE:
        outer_piece(into, into_row, rows, left, left_row, left_step, right, right_row, count, floats, factor)
        return
    for first in range(0, count, PIECE_ROWS):
        own_factor = factor if first == 0 else np.float32(1)
        some = min(PIECE_ROWS, count - first)
        own_left, own_right = left + 4 * first * left_step, right + 4 * first * right_row
        for begin in range(0, floats, PIECE):
            width = min(PIECE, floats - begin)
            for row in range(0, rows, ROWS):
                outer_piece(
                    into + 4 * (row * into_row + begin),
                    into_row,
                    min(ROWS, rows - row),
                    own_left + 4 * row * left_row,
                    left_row,
                    left_step,
                    own_right + 4 * begin,
                    right_row,
                    some,
                    width,
                    own_factor,
                )


@compiled
def dots(
    into: int, into_row: int, left: int, left_row: int, rows: int, right: int, right_row: int, columns: int, floats: int
) -> None:
    """As `dot_tile`, of any size; steps in floats.

    Where `right` is small it stays in the cache while rows of `left` pass. Otherwise it passes once, in pieces.
    """
    row_tiles, column_tiles = -(-rows // DOT_ROWS), -(-columns // DOT_COLUMNS)
    if 4 * columns * floats <= CACHE:
        for tile in range(row_tiles * column_tiles):
            row_tile, column_tile = tile // column_tiles, tile % column_tiles
            dots_piece(
                into, into_row, left, left_row, rows, right, right_row, columns, row_tile, column_tile, floats, 0
            )
        return
    for begin in range(0, floats, PIECE):
        for tile in range(row_tiles * column_tiles):
            row_tile, column_tile = tile % row_tiles, tile // row_tiles
            dots_piece(
                into,
                into_row,
                left + 4 * begin,
                left_row,
                rows,
                right + 4 * begin,
                right_row,
                columns,
                row_tile,
                column_tile,
                min(PIECE, floats - begin),
                begin,
            )


@compiled
def dots_piece(
    into: int,
    into_row: int,
    left: int,
    left_row: int,
    rows: int,
    right: int,
    right_row: int,
    columns: int,
    row_tile: int,
    column_tile: int,
    floats: int,
    before: int,
) -> None:
    """One tile of all; it is added to what is there already of the floats `before` it."""
    row_tiles, column_tiles = -(-rows // DOT_ROWS), -(-columns // DOT_COLUMNS)
    row, column = rows * row_tile // row_tiles, columns * column_tile // column_tiles
    dot_tile(
        rows * (row_tile + 1) // row_tiles - row,
        columns * (column_tile + 1) // column_tiles - column,
        into + 4 * (row * into_row + column),
        4 * into_row,
        left + 4 * row * left_row,
        4 * left_row,
        right + 4 * column * right_row,
        4 * right_row,
        floats // LANES,
        min(before, 1),
    )


@compiled
def copy(source: np.ndarray, begin: int, into: np.ndarray, place: int, count: int) -> None:
    for at in range(count):
        into[place + at] = source[begin + at]


@compiled
def pad(layers: Layers, row: np.ndarray, padded: np.ndarray) -> None:
    """From weight, bias, weight, bias, ... in a row to the padded one, whose other floats are not touched."""
    at = 0
    for layer in range(len(layers.weights)):
        width, out = layers.widths[layer], layers.widths[layer + 1]
        for unit in range(out):
            place = layers.weights[layer] + unit * layers.strides[layer]
            copy(row, at, padded, place, width)
            at += width
        copy(row, at, padded, layers.biases[layer], out)
        at += out


@compiled
def unpad(layers: Layers, padded: np.ndarray, row: np.ndarray) -> None:
    at = 0
    for layer in range(len(layers.weights)):
        width, out = layers.widths[layer], layers.widths[layer + 1]
        for unit in range(out):
            place = layers.weights[layer] + unit * layers.strides[layer]
            copy(padded, place, row, at, width)
            at += width
        copy(padded, layers.biases[layer], row, at, out)
        at += out


@compiled
def forward(layers: Layers, params: np.ndarray, inputs: int, values: list[np.ndarray], count: int) -> None:
    """`values[l]` becomes what comes out of layer l, a row for each of so many samples."""
    base = address(params)
    for layer in range(len(layers.weights)):
        stride, out = layers.strides[layer], layers.widths[layer + 1]
        into = values[layer]
        left = inputs if layer == 0 else address(values[layer - 1])
        right = base + 4 * layers.weights[layer]
        dots(address(into), into.shape[1], left, stride, count, right, stride, out, stride)
        bias = layers.biases[layer]
        for sample in range(count):
            for unit in range(out):
                value = into[sample, unit] + params[bias + unit]
                # NaN stays, as in torch.
                into[sample, unit] = np.float32(0) if layers.relu[layer] and value <= 0 else value


@compiled
def softmax(
    logits: np.ndarray,
    count: int,
    classes: int,
    labels: np.ndarray,
    columns: np.ndarray,
    highest: np.ndarray,
    sums: np.ndarray,
    losses: np.ndarray,
) -> None:
    """`columns[c, s]` becomes each class's probability times `sums[s]`, `losses` the samples' cross-entropies."""
    for c in range(classes):
        for s in range(count):
            columns[c, s] = logits[s, c]
    for s in range(count):
        highest[s] = columns[0, s]
    for c in range(1, classes):
        for s in range(count):
            highest[s] = columns[c, s] if columns[c, s] > highest[s] else highest[s]
    for c in range(classes):
        for s in range(count):
            columns[c, s] -= highest[s]
    for s in range(count):
        losses[s] = -columns[labels[s], s]
    exponentials(address(columns), classes * (columns.shape[1] // LANES))
    for s in range(count):
        sums[s] = columns[0, s]
    for c in range(1, classes):
        for s in range(count):
            sums[s] += columns[c, s]
    for s in range(count):
        losses[s] += np.float32(math.log(sums[s]))


@compiled
def new_values(layers: Layers, samples: int) -> list[np.ndarray]:
    """Room for what comes out of each layer, whose padding stays zero."""
    return [
        np.zeros((samples, -(-layers.widths[layer + 1] // LANES) * LANES), np.float32)
        for layer in range(len(layers.weights))
    ]


@compiled
def largest(numbers: np.ndarray) -> int:
    most = 0
    for at in range(len(numbers)):
        most = max(most, numbers[at])
    return most


@compiled
def widest(values: list[np.ndarray]) -> int:
    most = 0
    for each in values:
        most = max(most, each.shape[1])
    return most


@compiled
def train(
    layers: Layers,
    batches: Batches,
    numbers: Numbers,
    samples: np.ndarray,
    params: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    gradient_terms: np.ndarray,
    step_terms: np.ndarray,
    anchor: np.ndarray,
    class_weights: np.ndarray,
    begin: int,
    end: int,
    losses: np.ndarray,
) -> None:
    """Steps `begin` to `end` of every client, in its row of `params`; its losses are added to `losses`.

    `first` and `second` are the moments, a padded row for each client, `gradient_terms` and `step_terms` rows like
    those of `params`, `anchor` one such row: all as far as there are some.
    """
    size, most, classes = layers.size, batches.batch_size, layers.widths[-1]
    own, gradient = np.zeros(size, np.float32), np.zeros(size, np.float32)
    start, term, step_term = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    if numbers.pull != 0:
        pad(layers, anchor, start)
    room = min(most, largest(batches.sizes))
    lanes = -(-room // LANES) * LANES
    inputs = np.zeros((room, layers.strides[0]), np.float32)
    values, errors = new_values(layers, room), new_values(layers, room)
    scaled = np.zeros((room, widest(values)), np.float32)
    labels, shares = np.zeros(room, np.int64), np.zeros(room, np.float32)
    columns, highest = np.zeros((classes, lanes), np.float32), np.zeros(lanes, np.float32)
    sums, sample_losses = np.zeros(lanes, np.float32), np.zeros(lanes, np.float32)
    for row in range(len(params)):
        if batches.steps[row] <= begin:
            continue
        pad(layers, params[row], own)
        if len(gradient_terms):
            pad(layers, gradient_terms[row], term)
        if len(step_terms):
            pad(layers, step_terms[row], step_term)
        has_terms = numbers.pull != 0 or len(gradient_terms) > 0
        straight = not numbers.adam and numbers.momentum == 0 and not has_terms
        in_momentum = not numbers.adam and numbers.momentum != 0 and not numbers.nesterov
        target = own if straight else (first[row] if in_momentum else gradient)
        for step in range(begin, min(end, batches.steps[row])):
            epoch, within = step // batches.per_epoch[row], step % batches.per_epoch[row]
            place = epoch * batches.strides[row] + batches.offsets[row] + within * most
            count = min(most, batches.sizes[row] - within * most)
            for s in range(count):
                labels[s] = batches.labels[place + s]
                shares[s] = np.float32(1) / np.float32(count)
                if len(class_weights):
                    shares[s] *= class_weights[labels[s]]
                copy(samples[batches.order[place + s]], 0, inputs[s], 0, layers.widths[0])
            forward(layers, own, address(inputs), values, count)
            softmax(values[-1], count, classes, labels, columns, highest, sums, sample_losses)
            loss = np.float32(0)
            error = errors[-1]
            for s in range(count):
                loss += sample_losses[s] * shares[s]
                for c in range(classes):
                    error[s, c] = columns[c, s] / sums[s] * shares[s]
                error[s, labels[s]] -= shares[s]
            losses[row] += loss
            factor = scale = np.float32(1)
            if straight:
                factor, scale = np.float32(1 - numbers.lr * numbers.weight_decay), np.float32(-numbers.lr)
            else:
                factor = np.float32(numbers.momentum) if in_momentum else np.float32(0)
            backward(layers, own, inputs, values, errors, scaled, count, target, factor, scale)
            if not straight:
                update(numbers, own, target, first[row], second[row], start, term, has_terms, step + 1)
            if len(step_terms):
                for at in range(size):
                    own[at] -= step_term[at]
        unpad(layers, own, params[row])


@compiled
def backward(
    layers: Layers,
    params: np.ndarray,
    inputs: np.ndarray,
    values: list[np.ndarray],
    errors: list[np.ndarray],
    scaled: np.ndarray,
    count: int,
    target: np.ndarray,
    factor: float,
    scale: float,
) -> None:
    """`target = factor * target + scale * gradient`; `target` may be the parameters themselves.

    `errors[-1]` is the loss's derivative by the logits.
    """
    for behind in range(len(layers.weights)):
        layer = len(layers.weights) - 1 - behind
        stride, out = layers.strides[layer], layers.widths[layer + 1]
        weights, biases = layers.weights[layer], layers.biases[layer]
        error = errors[layer]
        left = inputs if layer == 0 else values[layer - 1]
        if layer > 0:
            below = errors[layer - 1]
            here = address(params) + 4 * weights
            left_at, left_row = address(error), error.shape[1]
            outer(address(below), stride, count, left_at, left_row, 1, here, stride, out, stride, np.float32(0))
            if layers.relu[layer - 1]:
                for s in range(count):
                    for unit in range(stride):
                        below[s, unit] = np.float32(0) if left[s, unit] <= 0 else below[s, unit]
        for s in range(count):
            for unit in range(out):
                scaled[s, unit] = error[s, unit] * scale
        into = address(target) + 4 * weights
        outer(into, stride, out, address(scaled), 1, scaled.shape[1], address(left), stride, count, stride, factor)
        for unit in range(out):
            target[biases + unit] *= factor
        for s in range(count):
            for unit in range(out):
                target[biases + unit] += scaled[s, unit]


@compiled
def update(
    numbers: Numbers,
    params: np.ndarray,
    gradient: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    anchor: np.ndarray,
    term: np.ndarray,
    has_terms: bool,
    step: int,
) -> None:
    """The optimizer's step, as `apply_update` has it; `gradient` is `first` where it is plain momentum."""
    size = len(params)
    if has_terms:
        pull = np.float32(numbers.pull)
        for at in range(size):
            gradient[at] += pull * (params[at] - anchor[at]) + term[at]
    lr, decay = np.float32(numbers.lr), np.float32(numbers.weight_decay)
    if numbers.adam:
        keep = np.float32(1 - numbers.lr * numbers.weight_decay) if numbers.decoupled else np.float32(1)
        added = np.float32(0) if numbers.decoupled else decay
        beta1, beta2, eps = np.float32(numbers.beta1), np.float32(numbers.beta2), np.float32(numbers.eps)
        rest1, rest2 = np.float32(1 - numbers.beta1), np.float32(1 - numbers.beta2)
        rate = np.float32(numbers.lr / (1 - numbers.beta1**step))
        root = np.float32(math.sqrt(1 - numbers.beta2**step))
        for at in range(size):
            own = params[at] * keep
            slope = gradient[at] + added * own
            mean = beta1 * first[at] + rest1 * slope
            square = beta2 * second[at] + rest2 * slope * slope
            first[at], second[at] = mean, square
            params[at] = own - rate * mean / (np.sqrt(square) / root + eps)
        return
    if decay != 0:
        for at in range(size):
            gradient[at] += decay * params[at]
    if numbers.nesterov:
        momentum = np.float32(numbers.momentum)
        for at in range(size):
            first[at] = momentum * first[at] + gradient[at]
            gradient[at] += momentum * first[at]
    for at in range(size):
        params[at] -= lr * gradient[at]


@compiled
def score(
    layers: Layers,
    row: np.ndarray,
    samples: np.ndarray,
    labels: np.ndarray,
    losses: np.ndarray,
    predictions: np.ndarray,
) -> None:
    """Each sample's loss and the first of its most probable classes (class 0 where its numbers are NaN)."""
    params = np.zeros(layers.size, np.float32)
    pad(layers, row, params)
    width, stride, classes = layers.widths[0], layers.strides[0], layers.widths[-1]
    inputs = np.zeros((BLOCK, stride), np.float32)
    values = new_values(layers, BLOCK)
    columns, highest = np.zeros((classes, BLOCK), np.float32), np.zeros(BLOCK, np.float32)
    sums, sample_losses = np.zeros(BLOCK, np.float32), np.zeros(BLOCK, np.float32)
    for begin in range(0, len(samples), BLOCK):
        count = min(BLOCK, len(samples) - begin)
        rows = address(samples[begin:])
        if stride != width:
            for s in range(count):
                copy(samples[begin + s], 0, inputs[s], 0, width)
            rows = address(inputs)
        forward(layers, params, rows, values, count)
        logits = values[-1]
        for s in range(count):
            predictions[begin + s] = 0
        softmax(logits, count, classes, labels[begin:], columns, highest, sums, sample_losses)
        for behind in range(classes):
            c = classes - 1 - behind
            for s in range(count):
                if logits[s, c] == highest[s]:
                    predictions[begin + s] = c
        copy(sample_losses, 0, losses, begin, count)
