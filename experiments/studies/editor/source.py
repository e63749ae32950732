"""A study as YAML: read, written, and rewritten so that a person's comments and order of keys outlive the form."""

from __future__ import annotations

import difflib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.util import load_yaml_guess_indent

from experiments.labels.specs import field_position, in_spec_order, spec_yaml
from experiments.studies.services.definition import StudyDefinition
from workers.errors import Problem, SpecError
from workers.spec.yaml import load_document

MAX_TEXT = 100_000
ANY_WIDTH = 4096


@dataclass(frozen=True)
class StudyText:
    """A study as its text says it; `lines` has the line, counted from 1, at which each path stands."""

    study: dict[str, Any]
    lines: dict[str, int]


def study_from_yaml(text: str) -> dict[str, Any]:
    return read_study_text(text).study


def read_study_text(text: str) -> StudyText:
    """Refused by its size before anything of it is read, and then read once."""
    if is_too_long(text):
        raise SpecError([Problem("yaml", f"More than {MAX_TEXT:,} characters: launch it over REST instead.")])
    document = load_document(text)
    if document.has_aliases:
        # A short text with aliases can stand for gigabytes once it is written out.
        raise SpecError([Problem("yaml", "Write values out instead of using aliases.")])
    try:
        json.dumps(document.value, allow_nan=False)
    except (TypeError, ValueError):
        raise SpecError([Problem("yaml", "Only text, finite numbers, lists and mappings have a place here.")]) from None
    if document.node is None or not isinstance(document.value, Mapping):
        raise SpecError([Problem("yaml", "A study is a mapping with a name and blocks.")])
    return StudyText(dict(document.value), dict(node_lines(document.node, "")))


def is_too_long(text: str) -> bool:
    return len(text) > MAX_TEXT


def yaml_from_study(study: Mapping[str, Any]) -> str:
    return spec_yaml(without_empty(study))


def without_empty(study: Mapping[str, Any]) -> dict[str, Any]:
    """Fields in the order of a definition, those it does not know last; what is empty is not written."""
    known = [key for key in StudyDefinition.model_fields if key in study]
    order = [*known, *(key for key in study if key not in known)]
    return {key: study[key] for key in order if study[key] not in (None, "", [])}


def rewrite_yaml(text: str, study: Mapping[str, Any]) -> str:
    """The text changed until it says that study: what stays equal keeps its comments, its order and its style."""
    target = without_empty(study)
    try:
        before = study_from_yaml(text)
        if same_json(without_empty(before), target):
            return text
        changed = merge_into_yaml(text, before, target)
        return changed if same_json(study_from_yaml(changed), target) else yaml_from_study(study)
    except (SpecError, YAMLError):
        return yaml_from_study(study)


def same_json(one: Any, other: Any) -> bool:
    """As JSON, where 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def merge_into_yaml(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    document, indent, offset = load_yaml_guess_indent(text)
    update_mapping(document, before, after)
    writer = YAML()
    writer.preserve_quotes = True
    writer.brace_single_entry_mapping_in_flow_sequence = True
    writer.width = ANY_WIDTH
    writer.indent(mapping=2, sequence=indent or 2, offset=offset or 0)
    stream = io.StringIO()
    writer.dump(document, stream)
    return stream.getvalue()


def update_mapping(node: CommentedMap, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key in [key for key in before if key not in after]:
        del node[key]
    for key, value in after.items():
        if key not in before:
            node.insert(insert_position(key, list(node)), key, new_node(value))
        elif not same_json(before[key], value):
            node[key] = update_node(node[key], before[key], value)


def insert_position(key: str, keys: list[str]) -> int:
    """After the last field that people write before it."""
    return max((place + 1 for place, each in enumerate(keys) if field_position(each) < field_position(key)), default=0)


def update_node(node: Any, before: Any, after: Any) -> Any:
    """The node, changed in place where both are mappings or lists; otherwise the new value."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        update_mapping(node, before, after)
        return node
    if isinstance(before, list) and isinstance(after, list):
        update_list(node, before, after)
        return node
    return new_node(after)


def update_list(node: CommentedSeq, before: list[Any], after: list[Any]) -> None:
    """Equal items stay; from the end to the start, so that places hold."""
    old, new = ([json.dumps(each, sort_keys=True) for each in values] for values in (before, after))
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in reversed(changes):
        if kind == "replace" and end - start == new_end - new_start:
            for place, other in zip(range(start, end), range(new_start, new_end), strict=True):
                node[place] = update_node(node[place], before[place], after[other])
        elif kind != "equal":
            del node[start:end]
            for each in reversed(after[new_start:new_end]):
                node.insert(start, new_node(each))


def new_node(value: Any) -> Any:
    """New values on one line, as in `strategy: {name: fedprox, mu: 0.1}`, but for blocks."""
    ordered = in_spec_order(value)
    if isinstance(ordered, Mapping):
        mapping = CommentedMap((key, new_node(each)) for key, each in ordered.items())
        if not any(isinstance(each, Mapping) for each in ordered.values()):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(ordered, list):
        items = CommentedSeq(new_node(each) for each in ordered)
        if not any(isinstance(each, CommentedMap) and not each.fa.flow_style() for each in items):
            items.fa.set_flow_style()
        return items
    return ordered


def node_lines(node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
    """A field stands where its name does, an item of a list where it begins."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            yield below, key.start_mark.line + 1
            yield from node_lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield f"{path}.{index}", each.start_mark.line + 1
            yield from node_lines(each, f"{path}.{index}")


def line_of_path(lines: Mapping[str, int], path: str) -> int | None:
    """Where a problem's path stands, or the closest field around it."""
    parts = path.split(".")
    candidates = (lines.get(".".join(parts[:length])) for length in range(len(parts), 0, -1))
    return next((line for line in candidates if line), None)
