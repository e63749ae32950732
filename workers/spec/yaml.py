"""YAML as people mean it: `1e-3` is a number, `on` is a word, and a key that is given twice is an error.

PyYAML follows YAML 1.1, where `on`, `yes` and `no` are truth values, `1e-3` is text and `010` is eight. Specs have a
field called `on`; so plain scalars are read by the rules of YAML 1.2, as JSON would.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from yaml._yaml import CParser
from yaml._yaml import Mark as ParserMark
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from workers.errors import Problem, SpecError

TAG_PREFIX = "tag:yaml.org,2002:"
NUMBER_START = list("+-.0123456789")
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
INTEGER_BASES = {"0o": 8, "0x": 16}
LONGEST_TEXT = 5_000_000
MOST_VALUES = 1_000_000
DEEPEST = 50
AnyMark = yaml.Mark | ParserMark


class SpecLoader(Composer, CParser, SafeConstructor, Resolver):
    """Safe (plain data only), by the core schema of YAML 1.2. Events are libyaml's, ten times as fast as Python's.

    A few lines of aliases of aliases stand for more values than fit into memory, and nesting for more calls than Python
    makes: both are counted while the text is read, before any value is made.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self.depth = 0
        self.has_aliases = False
        self.weights: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        mark = event.start_mark if event else None
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml_error(f"nested deeper than {DEEPEST} levels", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(event, yaml.AliasEvent):
            self.has_aliases = True
            if id(node) not in self.weights:
                raise yaml_error("a value that contains itself", mark)
        elif node is not None:
            self.weigh(node)
        return node

    def weigh(self, node: yaml.Node) -> None:
        """How many values a node stands for once its aliases are written out; each was weighed before its parent."""
        self.weights[id(node)] = total = 1 + sum(self.weights[id(each)] for each in child_nodes(node))
        if total > MOST_VALUES:
            raise yaml_error(f"more than {MOST_VALUES:,} values, its aliases written out", node.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, AttributeError, OverflowError):
            raise yaml_error("this value cannot be read as what its tag or its digits say", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        refuse_repeated_keys(node)
        return super().construct_mapping(node, deep=deep)


def yaml_error(problem: str, mark: AnyMark | None) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast(yaml.Mark, mark))


def child_nodes(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def refuse_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != f"{TAG_PREFIX}merge":
            if key.value in seen:
                raise yaml_error(f"{key.value} is given twice", key.start_mark)
            seen.add(key.value)


def construct_integer(loader: SpecLoader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    base = INTEGER_BASES.get(text[:2], 10)
    return int(text if base == 10 else text[2:], base)


def construct_float(loader: SpecLoader, node: yaml.ScalarNode) -> float:
    text = loader.construct_scalar(node).lower()
    if text.endswith((".inf", ".nan")):
        return math.copysign(math.inf, -1 if text[0] == "-" else 1) if text.endswith("inf") else math.nan
    return float(text)


for tag, pattern, starts in (
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", INTEGER.pattern, NUMBER_START),
    ("float", FLOAT.pattern, NUMBER_START),
    ("merge", r"<<", ["<"]),
):
    SpecLoader.add_implicit_resolver(f"{TAG_PREFIX}{tag}", re.compile(rf"^(?:{pattern})$"), starts)
SpecLoader.add_constructor(f"{TAG_PREFIX}int", construct_integer)  # type: ignore[type-var]
SpecLoader.add_constructor(f"{TAG_PREFIX}float", construct_float)  # type: ignore[type-var]


@dataclass(frozen=True)
class Document:
    """What a text says, and the nodes that know where it says so."""

    value: Any
    node: yaml.Node | None
    has_aliases: bool


def load_yaml(text: str) -> Any:
    """The document's value, or a `SpecError` that says where it cannot be read."""
    return load_document(text).value


def load_document(text: str) -> Document:
    """Reads the text once."""
    if len(text) > LONGEST_TEXT:
        raise SpecError([Problem("", f"More than {LONGEST_TEXT:,} characters.")], "Not valid YAML.")
    try:
        loader = SpecLoader(text)
        node = loader.get_single_node()
        value = loader.construct_document(node) if node is not None else None
        return Document(value, node, loader.has_aliases)
    except yaml.MarkedYAMLError as error:
        raise SpecError(
            [Problem(mark_position(error.problem_mark), error.problem or str(error))], "Not valid YAML."
        ) from None
    except yaml.YAMLError as error:
        raise SpecError([Problem("", str(error))], "Not valid YAML.") from None


def mark_position(mark: AnyMark | None) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def read_yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise SpecError([Problem(str(path), f"Cannot be read: {reason}.")], "The file cannot be read.") from None
    return load_yaml(text)
