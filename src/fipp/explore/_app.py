"""The explorer as a web application: operations of the API, the files of the page, errors in plain words."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.explore._answers import Answers, UnknownWordError, as_tsv
from fipp.explore._batches import Batches, BusyError
from fipp.explore._edits import ImpossibleError
from fipp.explore._guard import App, Guard
from fipp.explore._operations import (
    MOST_BYTES,
    OPERATIONS,
    Operation,
    RequestError,
    document,
    read_body,
    read_parameters,
)
from fipp.explore._session import DICTIONARY, MODEL, Session
from fipp.report import style_sheet

_PAGE = {
    "/": ("index.html", "text/html"),
    "/app.js": ("app.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}
_STATUS = {RequestError: 400, UnknownWordError: 404, ImpossibleError: 409, BusyError: 503}


def make_app(session: Session, *, host: str = "127.0.0.1", token: str | None = None) -> App:
    """Return the explorer as an ASGI application, which closes the session when it ends.

    Parameters
    ----------
    session : Session
        What is explored.
    host : str
        The address that the server listens on; requests for other hosts are refused.
    token : str, optional
        What every request must bring.

    Returns
    -------
    ASGI application
    """
    starlette = require("starlette.applications", "fipp explore", extra="explore").Starlette
    route = require("starlette.routing", "fipp explore", extra="explore").Route
    batches = Batches()
    handlers = _Handlers(Answers(session, batches))

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        session.close()
        batches.close()

    routes = [route(each.path, partial(handlers.respond, each), methods=[each.method]) for each in OPERATIONS]
    routes += [route(path, partial(_send_file, *known), methods=["GET"]) for path, known in _PAGE.items()]
    routes.append(route("/base.css", _send_shared_style, methods=["GET"]))
    routes.append(route("/api/openapi.json", _send_document, methods=["GET"]))
    failures = {404: partial(_fail, 404, "there is nothing here"), 405: _refuse_method}
    app = starlette(routes=routes, lifespan=lifespan, exception_handlers=failures)
    return Guard(app, host, token)


class _Handlers:
    """A method for each operation, which takes its checked values and returns what to answer."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._session = answers, answers.session

    async def respond(self, operation: Operation, request: Any) -> Any:
        """Answer a request."""
        handler: Callable[..., Awaitable[Any]] = getattr(self, operation.name)
        try:
            values = read_parameters(operation, request.query_params.multi_items())
            if operation.body is not None:
                values |= read_body(operation, await _read_json(request))
            return _response(await handler(**values), operation)
        except _RefusedError as refused:
            return _json({"error": str(refused)}, refused.status)
        except FippError as error:
            near = {"near": error.near} if isinstance(error, UnknownWordError) else {}
            return _json({"error": str(error), **near}, _STATUS.get(type(error), 409))
        except Exception:
            logging.getLogger("fipp.explore").exception("a defect of fipp")
            return _json({"error": "this failed because of a defect of fipp; the terminal shows details"}, 500)

    async def status(self) -> Any:
        return self._answers.status()

    async def translate(self, word: str, side: Any, k: int) -> Any:
        return await self._answers.translate(word, side, k)

    async def translate_list(self, **asked: Any) -> Any:
        return await self._answers.translate_list(**asked)

    async def translate_tsv(self, **asked: Any) -> Any:
        return as_tsv(await self._answers.translate_list(**asked)).encode("utf-8", "replace")

    async def neighbours(self, word: str, side: Any, k: int) -> Any:
        return await self._answers.neighbours(word, side, k)

    async def map(self, word: str, side: Any) -> Any:
        return await self._answers.map(word, side)

    async def seeds(self, word: str, side: Any, k: int) -> Any:
        return await asyncio.to_thread(self._answers.seeds, word, side, k)

    async def suspects(self, k: int) -> Any:
        return await asyncio.to_thread(self._answers.suspects, k)

    async def edit(
        self, action: str, source: str, target: str, to_source: str | None = None, to_target: str | None = None
    ) -> Any:
        await asyncio.to_thread(self._answers.edit, action, source, target, to_source, to_target)
        return self._answers.status()

    async def undo(self) -> Any:
        await asyncio.to_thread(self._session.undo)
        return self._answers.status()

    async def start_refit(self, method: str) -> Any:
        self._session.start_refit(method)
        return self._answers.refit()

    async def refit(self) -> Any:
        return self._answers.refit()

    async def stop_refit(self) -> Any:
        self._session.stop_refit()
        return self._answers.refit()

    async def evaluate(self) -> Any:
        return {"score": await asyncio.to_thread(self._session.evaluate)}

    async def dictionary(self) -> Any:
        return await asyncio.to_thread(self._session.export, DICTIONARY)

    async def model(self) -> Any:
        return await asyncio.to_thread(self._session.export, MODEL)

    async def save(self) -> Any:
        return {"saved": await asyncio.to_thread(self._session.save)}


class _RefusedError(Exception):
    """A request that is refused before its body is understood."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def _read_json(request: Any) -> Any:
    # Browsers let other pages send plain forms without asking, but never JSON.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _RefusedError(415, "the body must be JSON: send it as application/json")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise _RefusedError(413, f"the request is larger than {MOST_BYTES:,} bytes")
    try:
        return json.loads(body, parse_float=_whole_if_possible)
    except (ValueError, RecursionError):
        raise RequestError("the body is not JSON") from None


def _whole_if_possible(text: str) -> int | float:
    """Return a number of JSON, where 5.0 is a whole number like 5."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _response(content: Any, operation: Operation) -> Any:
    if operation.media == "application/json":
        return _json(content, operation.status)
    names = {"dictionary": DICTIONARY, "model": MODEL, "translate_tsv": "translations.tsv"}
    attachment = {"content-disposition": f'attachment; filename="{names[operation.name]}"'}
    return _responses().Response(content, media_type=operation.media, headers=attachment)


def _json(content: Any, status: int = 200) -> Any:
    # As ASCII: words from files may have characters that UTF-8 has not, such as lone surrogates.
    return _responses().Response(json.dumps(content), status, media_type="application/json")


def _responses() -> Any:
    return require("starlette.responses", "fipp explore", extra="explore")


async def _send_file(name: str, media: str, request: Any) -> Any:
    content = (files("fipp.explore") / "static" / name).read_bytes()
    return _responses().Response(content, media_type=media)


async def _send_shared_style(request: Any) -> Any:
    return _responses().Response(style_sheet(), media_type="text/css")


async def _send_document(request: Any) -> Any:
    return _json(document())


async def _fail(status: int, reason: str, request: Any, error: Any) -> Any:
    return _json({"error": reason}, status)


async def _refuse_method(request: Any, error: Any) -> Any:
    answer = _json({"error": "this address does not take such requests"}, 405)
    answer.headers.update(error.headers or {})
    return answer
