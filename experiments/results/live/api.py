"""GET /events: rounds and changes as they are committed."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.auth import request_credential
from experiments.api.schemas import error_responses
from experiments.results.live.events import EventScope, parse_cursor
from experiments.results.live.listener import Wish
from experiments.results.live.stream import event_stream

router = Router(tags=["lab"])
STREAM = {"text/event-stream": {"schema": {"type": "string"}}}


class EventFilter(Schema):
    study: int | None = Field(None, ge=1, lt=2**63, description="Only this study's runs.", examples=[12])
    run: int | None = Field(None, ge=1, lt=2**63, description="Only this run.", examples=[71])
    latest: bool = Field(
        False,
        description="Of rounds of a run that come together only the last: for readers who read the rest elsewhere.",
        examples=[False],
    )
    curves: list[str] = Field(
        [],
        max_length=8,
        description="Rounds of all runs together as events `curves`, with these metrics alone: for charts.",
        examples=[["accuracy"]],
    )
    after: str = Field(
        "",
        description="The id of the last event had, as Last-Event-ID: what came later is sent first.",
        examples=["1763258507123:12.30,13.28"],
    )


@router.get(
    "/events",
    response={200: None, **error_responses()},
    summary="Server-sent events",
    operation_id="lab_events",
    openapi_extra={"responses": {200: {"description": "The stream", "content": STREAM}}},
)
def events(request: HttpRequest, query: Query[EventFilter]) -> StreamingHttpResponse:
    """`metric`: a round was committed. `state`: a run changed. `study`: a study changed. `hello`: the stream is open.

    `hello` and `refetch` name the `pace`: seconds between two requests of a page, which grow with those who watch.
    `curves`: rounds that were committed, by run, for readers who asked for `curves`.
    `refetch`: too much was missed to be sent. A reader that reconnects with `Last-Event-ID` gets each round once. The
    stream ends when its token, session or account does.
    """
    cursor = parse_cursor(request.headers.get("Last-Event-ID", "") or query.after)
    wish = Wish(EventScope(query.study, query.run), query.latest, tuple(dict.fromkeys(query.curves)))
    stream = event_stream(wish, cursor, request_credential(request))
    # no-transform and X-Accel-Buffering keep proxies from holding events back.
    headers = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream, content_type="text/event-stream", headers=headers)
