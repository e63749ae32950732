"""What an object of a plugin remembers in its attributes: saved in checkpoints, so that nobody must know of `state`."""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from threading import Lock, RLock
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from pydantic import BaseModel

from workers.engine.clients import ClientMapping
from workers.errors import TributaryError

LOCKS = (type(Lock()), type(RLock()))
CONSTANTS = (BaseModel, ClientMapping, FunctionType, BuiltinFunctionType, MethodType, ModuleType, type, *LOCKS)
Arrays = dict[str, np.ndarray]


class AttributeWatch:
    """Knows an object as it was built, and so which of its attributes have changed since."""

    def __init__(self, name: str, owner: object, skipped: tuple[str, ...] = ()) -> None:
        self.name, self.owner, self.skipped = name, owner, skipped
        self.built = self.fingerprints()

    def fingerprints(self) -> dict[str, str | None]:
        attributes = {name: value for name, value in vars(self.owner).items() if name not in self.skipped}
        return {name: fingerprint(value, self.owner) for name, value in attributes.items()}

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """Changed attributes: their arrays, and the rest as JSON. Refused is what neither can hold."""
        arrays: Arrays = {}
        facts = {}
        for attribute, mark in self.fingerprints().items():
            if mark is None or mark != self.built.get(attribute, ""):
                try:
                    facts[attribute] = encode(vars(self.owner)[attribute], f"{self.name}/{attribute}", arrays)
                except TypeError as error:
                    raise TributaryError(self.refusal(attribute, error, certain=mark is not None)) from None
        return arrays, facts

    def refusal(self, attribute: str, error: TypeError, *, certain: bool) -> str:
        changes = "changes" if certain else "may change unseen"
        return (
            f"{type(self.owner).__name__}.{attribute} {changes} from round to round, and a checkpoint cannot hold it "
            f"({error}), so that a run could not go on from one: keep tensors in `self.state`, or numbers, texts, "
            "arrays, tensors, and lists or dicts of these in attributes."
        )

    def load(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], device: torch.device) -> None:
        for attribute, tree in facts.items():
            assign(self.owner, attribute, decode(tree, arrays, device))


@contextmanager
def unchanged_attributes_on_error(owner: object) -> Iterator[None]:
    """A round that breaks off leaves numbers, arrays and containers as they were; tensors are not copied."""
    before = {name: duplicate(value) for name, value in vars(owner).items()}
    try:
        yield
    except BaseException:
        vars(owner).clear()
        vars(owner).update(before)
        raise


def duplicate(value: Any) -> Any:
    """What may be changed in place, as it is now; whatever else it holds is shared."""
    if isinstance(value, np.ndarray | np.random.Generator):
        return deepcopy(value)
    if isinstance(value, set):
        return copy(value)
    if isinstance(value, dict | list | deque):
        same = copy(value)
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            same[key] = duplicate(each)
        return same
    return value


def fingerprint(value: object, owner: object) -> str | None:
    """Equal while nothing in it changes; None where nobody can tell."""
    digest = hashlib.sha256()
    try:
        FingerprintPickler(digest, owner).dump(value)
    except Exception:
        return None
    return digest.hexdigest()


class FingerprintPickler(pickle.Pickler):
    """Writes into a digest only. What cannot change (code, a spec) and the owner itself count as constants."""

    def __init__(self, digest: Any, owner: object) -> None:
        super().__init__(DigestFile(digest))
        self.owner = owner

    def persistent_id(self, obj: Any) -> str | None:
        return "constant" if obj is self.owner or isinstance(obj, CONSTANTS) else None

    def reducer_override(self, obj: Any) -> Any:
        """A tensor's own pickle has addresses in it."""
        if not isinstance(obj, torch.Tensor):
            return NotImplemented
        raw = obj.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        return tuple, ([str(obj.dtype), tuple(obj.shape), raw],)


class DigestFile:
    def __init__(self, digest: Any) -> None:
        self.write = digest.update


def encode(value: Any, path: str, arrays: Arrays) -> dict[str, Any]:
    """As JSON; arrays are put aside under their path."""
    if isinstance(value, torch.Tensor):
        arrays[path] = value.detach().cpu().numpy()
        return {"tensor": path, "device": value.device.type}
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise TypeError("an array of Python objects")
        arrays[path] = np.array(value)
        return {"number" if isinstance(value, np.generic) else "array": path}
    if isinstance(value, np.random.Generator):
        return {"generator": encode(value.bit_generator.state, path, arrays)}
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Array):
        return {"flower array": encode(value.numpy(), path, arrays)}
    for record, name in RECORDS.items():
        if isinstance(value, record):
            return {name: encode(dict(value), path, arrays)}
    if isinstance(value, dict):
        pairs = [(encode(key, f"{path}/{at}/key", arrays), each) for at, (key, each) in enumerate(value.items())]
        return {"dict": [[key, encode(each, f"{path}/{at}", arrays)] for at, (key, each) in enumerate(pairs)]}
    for kind, name in SEQUENCES.items():
        if isinstance(value, kind):
            return {name: [encode(each, f"{path}/{at}", arrays) for at, each in enumerate(value)]}
    raise TypeError(f"of type {type(value).__name__}")


SEQUENCES: dict[type[Any], str] = {list: "list", tuple: "tuple", set: "set", frozenset: "set", deque: "list"}
MAKERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set}
RECORDS: dict[type[Any], str] = {
    ArrayRecord: "flower arrays",
    MetricRecord: "flower metrics",
    ConfigRecord: "flower config",
    RecordDict: "flower records",
}
RECORD_MAKERS: dict[str, Any] = {name: record for record, name in RECORDS.items()}


def decode(tree: Mapping[str, Any], arrays: Mapping[str, np.ndarray], device: torch.device) -> Any:
    ((kind, content), *_) = tree.items()
    if kind == "tensor":
        tensor = torch.from_numpy(np.array(arrays[content]))
        return tensor if tree["device"] == "cpu" else tensor.to(device)
    if kind == "array":
        return np.array(arrays[content])
    if kind == "number":
        return arrays[content][()]
    if kind == "generator":
        generator = np.random.Generator(getattr(np.random, decode(content, arrays, device)["bit_generator"])())
        generator.bit_generator.state = decode(content, arrays, device)
        return generator
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "flower array":
        return Array(decode(content, arrays, device))
    if kind in RECORD_MAKERS:
        return RECORD_MAKERS[kind](decode(content, arrays, device))
    if kind == "dict":
        return {decode(key, arrays, device): decode(each, arrays, device) for key, each in content}
    return content if kind == "value" else MAKERS[kind](decode(each, arrays, device) for each in content)


def assign(owner: object, attribute: str, value: Any) -> None:
    """A container of its own kind (defaultdict, deque with a length) keeps its kind and takes the content."""
    existing = vars(owner).get(attribute)
    if isinstance(existing, dict) and type(existing) is not dict and isinstance(value, dict):
        existing.clear()
        existing.update(value)
    elif isinstance(existing, deque) and isinstance(value, list):
        existing.clear()
        existing.extend(value)
    else:
        setattr(owner, attribute, value)
