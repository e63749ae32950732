"""Mods: each gets a message on its way in and the reply on its way out."""

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.clientapp.typing import ClientAppCallable


def count_messages(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Counts what this client has received, of any type, and tells the server."""
    counter = context.state.get("counter", MetricRecord({"messages": 0}))
    counter["messages"] += 1
    context.state["counter"] = counter
    reply = call_next(message, context)
    reply.content["metrics"]["messages-seen"] = counter["messages"]
    return reply


def clip_update(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Takes its setting out of the message, then shortens the update to the norm that it allows."""
    limit = message.content["config"].pop("clip-norm")
    (before,) = message.content["arrays"].to_numpy_ndarrays()
    reply = call_next(message, context)
    (after,) = reply.content["arrays"].to_numpy_ndarrays()
    norm = float(np.linalg.norm(after - before))
    reply.content["arrays"] = ArrayRecord([before + (after - before) * min(1.0, limit / norm)])
    reply.content["metrics"]["update-norm"] = norm
    reply.content["metrics"]["clipped"] = int(norm > limit)
    return reply


def halve_precision(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Half-precision numbers on the wire, double precision in the client."""
    message.content["arrays"] = cast(message.content["arrays"], np.float64)
    reply = call_next(message, context)
    if "arrays" in reply.content:
        reply.content["arrays"] = cast(reply.content["arrays"], np.float16)
        reply.content["wire"] = ConfigRecord({"dtype": "float16"})
    return reply


def cast(arrays: ArrayRecord, dtype: type) -> ArrayRecord:
    return ArrayRecord([array.astype(dtype) for array in arrays.to_numpy_ndarrays()])
