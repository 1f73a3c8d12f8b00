"""The operations of the explorer's API: what they take, what they answer, and the OpenAPI document about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.explore._edits import ACTIONS
from fipp.explore._session import METHODS

Schema = Mapping[str, Any]

MOST_BYTES = 256 * 1024
"""The size of the body of a request."""
_MOST_WORDS = 2000
_LONGEST_WORD = 200


class RequestError(FippError):
    """A request that is not as the OpenAPI document says."""


def _object(properties: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _list(items: Schema, **limits: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **limits}


def _or_null(schema: Schema) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_WORD: Schema = {"type": "string", "minLength": 1, "maxLength": _LONGEST_WORD}
_SIDE: Schema = {"type": "string", "enum": ["source", "target"]}
_K: Schema = {"type": "integer", "minimum": 1, "maximum": 50}
_RANKED = _list(_object({"word": _TEXT, "score": _NUMBER}))
_FIGURES = {name: _NUMBER for name in ("map", "mrr", "p_at_1", "p_at_5", "p_at_10")}
_ABOUT = {"measured_on": _TEXT, "retrieval": _TEXT, "n_questions": _COUNT}
_REFIT = _object(
    {
        "state": {"type": "string", "enum": ["none", "running", "done", "failed", "stopped"]},
        "method": _or_null(_TEXT),
        "progress": _NUMBER,
        "message": _or_null(_TEXT),
    }
)
_SCORE = _or_null(
    _object(
        {
            **_ABOUT,
            "before": _object(_FIGURES),
            "after": _object(_FIGURES),
            **{name: _NUMBER for name in ("difference", "low", "high")},
        }
    )
)
_VOCABULARY = _object({"name": _TEXT, "words": _COUNT, "examples": _list(_TEXT)})
_STATUS = _object(
    {
        "source": _VOCABULARY,
        "target": _VOCABULARY,
        "models": _list(_object({"method": _TEXT, "csls": {"type": "boolean"}})),
        "csls_progress": _NUMBER,
        "pairs": _object({"given": _COUNT, "added": _COUNT, "wrong": _COUNT}),
        "undo": _or_null(_TEXT),
        "refit": _REFIT,
        "score": _SCORE,
        "can_save": {"type": "boolean"},
        "answered": _object({"questions": _COUNT, "products": _COUNT}),
    }
)
_TRANSLATION = _object(
    {
        "word": _TEXT,
        "side": _SIDE,
        "known": {"type": "boolean"},
        "near": _list(_TEXT),
        "models": _list(_object({"method": _TEXT, "cosine": _RANKED, "csls": _or_null(_RANKED)})),
    }
)
_NEAR = _object({"side": _SIDE, "word": _TEXT, "words": _RANKED})
_MAP = _object(
    {
        "points": _list(_object({"word": _TEXT, "side": _SIDE, "x": _NUMBER, "y": _NUMBER})),
        "pairs": _list(_list(_COUNT, minItems=2, maxItems=2)),
    }
)
_SEED = _object(
    {
        "source": _TEXT,
        "target": _TEXT,
        "cosine": _NUMBER,
        "kept": _or_null(_NUMBER),
        "state": {"type": "string", "enum": ["given", "added", "wrong"]},
    }
)
_WORDS = _object(
    {
        "words": _list({"type": "string", "maxLength": _LONGEST_WORD}, minItems=1, maxItems=_MOST_WORDS),
        "side": _SIDE,
        "k": _K,
        "retrieval": {"type": "string", "enum": ["cosine", "csls"]},
        "model": {"type": "string", "enum": ["first", "second"]},
    },
    optional=("side", "k", "retrieval", "model"),
)
_EDIT = _object(
    {"action": {"type": "string", "enum": list(ACTIONS)}, "source": _WORD, "target": _WORD, "to_source": _WORD,
     "to_target": _WORD},
    optional=("to_source", "to_target"),
)  # fmt: skip
_ERROR = _object({"error": _TEXT, "near": _list(_TEXT)}, optional=("near",))
_LISTED = _object(
    {
        "translations": _list(_object({"word": _TEXT, "translations": _RANKED})),
        "unknown": _list(_TEXT),
    }
)
_ASKED = {"word": _WORD, "side": _SIDE}
_DEFAULTS = {"side": "source", "k": 10, "retrieval": "cosine", "model": "first"}


class Operation(NamedTuple):
    """One operation: what it takes, and what it answers if all is well; ``media`` is the type of an answer."""

    name: str
    method: str
    path: str
    summary: str
    answer: Schema
    parameters: Mapping[str, Schema] = {}
    body: Schema | None = None
    media: str = "application/json"
    status: int = 200
    failures: tuple[int, ...] = ()


_FILE: Schema = {"type": "string", "format": "binary"}
_OF_A_WORD: Any = {"parameters": {**_ASKED, "k": _K}, "failures": (404, 503)}
OPERATIONS = (
    Operation("status", "GET", "/api/status", "Models, edits, the last refit and the score.", _STATUS),
    Operation(
        "translate", "GET", "/api/translate", "Translations of a word by every model, by cosine and by CSLS.",
        _TRANSLATION, {**_ASKED, "k": _K}, failures=(503,),
    ),
    Operation(
        "translate_list", "POST", "/api/translate", "Translations of many words.",
        _LISTED, body=_WORDS, failures=(409, 413, 415, 503),
    ),
    Operation(
        "translate_tsv", "POST", "/api/translate.tsv", "Translations of many words, as lines separated by tabs.",
        _TEXT, body=_WORDS, media="text/tab-separated-values", failures=(409, 413, 415, 503),
    ),
    Operation(
        "neighbours", "GET", "/api/neighbours", "Words near a word, and words near its best translation.",
        _object({"own": _NEAR, "other": _NEAR}), **_OF_A_WORD,
    ),
    Operation(
        "map", "GET", "/api/map", "A word, its neighbours and its translations in two dimensions.",
        _MAP, _ASKED, failures=(404, 503),
    ),
    Operation(
        "seeds", "GET", "/api/seeds", "Seed pairs near a word, and how much of them the filter kept.",
        _object({"seeds": _list(_SEED)}), **_OF_A_WORD,
    ),
    Operation(
        "suspects", "GET", "/api/suspects", "The seed pairs that look most wrong, and how many are suspicious.",
        _object({"seeds": _list(_SEED), "suspicious": _COUNT}), {"k": _K},
    ),
    Operation(
        "edit", "POST", "/api/edit", "Mark a seed pair as wrong, restore it, add a pair, or correct one.",
        _STATUS, body=_EDIT, failures=(404, 409, 413, 415),
    ),
    Operation("undo", "POST", "/api/undo", "Undo the last edit or refit.", _STATUS, failures=(409,)),
    Operation(
        "start_refit", "POST", "/api/refit", "Learn the model again from the edited pairs, in the background.",
        _REFIT, body=_object({"method": {"type": "string", "enum": list(METHODS)}}), status=202,
        failures=(409, 413, 415),
    ),
    Operation("refit", "GET", "/api/refit", "The state of the last refit.", _REFIT),
    Operation("stop_refit", "DELETE", "/api/refit", "Stop a running refit.", _REFIT, failures=(409,)),
    Operation(
        "evaluate", "GET", "/api/evaluate", "The score of the model on pairs that it was not learned from.",
        _object({"score": _or_null(_object({**_ABOUT, **_FIGURES}))}),
    ),
    Operation(
        "dictionary", "GET", "/api/export/dictionary", "The edited seed dictionary.",
        _TEXT, media="text/tab-separated-values", failures=(409,),
    ),
    Operation(
        "model", "GET", "/api/export/model", "The model.", _FILE, media="application/octet-stream", failures=(409,),
    ),
    Operation(
        "save", "POST", "/api/save", "Write dictionary and model to the folder that was given at the start.",
        _object({"saved": _list(_TEXT)}), failures=(409,),
    ),
)  # fmt: skip

_FAILURES = {
    400: "The request is not as this document says.",
    403: "The request comes from another page, or without the token.",
    404: "A word is not known; `near` lists words that are spelled nearly like it.",
    409: "This cannot be done now.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    503: "Too many questions wait for an answer.",
}


def document() -> dict[str, Any]:
    """Return the OpenAPI document.

    Examples
    --------
    >>> sorted(document()["paths"]["/api/refit"])
    ['delete', 'get', 'post']
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    info = {"title": "fipp explore", "version": __version__, "description": "What the page of `fipp explore` asks."}
    error = {"content": {"application/json": {"schema": _ERROR}}}
    responses = {str(code): {"description": text, **error} for code, text in _FAILURES.items()}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"responses": responses}}


def _described(operation: Operation) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "query", "required": name not in _DEFAULTS, "schema": _with_default(name, schema)}
        for name, schema in operation.parameters.items()
    ]
    codes = sorted({400, 403, *operation.failures})
    answer = {"description": operation.summary, "content": {operation.media: {"schema": operation.answer}}}
    failures = {str(code): {"$ref": f"#/components/responses/{code}"} for code in codes}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {str(operation.status): answer, **failures},
    }
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": operation.body}}}
    return described


def _with_default(name: str, schema: Schema) -> dict[str, Any]:
    return {**schema, "default": _DEFAULTS[name]} if name in _DEFAULTS else dict(schema)


def read_parameters(operation: Operation, given: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of the parameters in an address, with defaults for those left out; refuse what is wrong."""
    values: dict[str, Any] = {name: _DEFAULTS[name] for name in operation.parameters if name in _DEFAULTS}
    seen = set()
    for name, text in given:
        schema = operation.parameters.get(name)
        if schema is None or name in seen:
            raise RequestError(f"{name} is not a parameter here" if schema is None else f"{name} was given twice")
        seen.add(name)
        whole = schema["type"] == "integer" and re.fullmatch(r"-?\d{1,9}", text, re.ASCII)
        values[name] = check(int(text) if whole else text, schema, name)
    for name in operation.parameters:
        if name not in values:
            raise RequestError(f"the parameter {name} is missing")
    return values


def read_body(operation: Operation, body: Any) -> dict[str, Any]:
    """Return the values in the body of a request, with defaults for those left out; refuse what is wrong."""
    assert operation.body is not None
    check(body, operation.body, "the body")
    defaults = {name: _DEFAULTS[name] for name in operation.body["properties"] if name in _DEFAULTS}
    return {**defaults, **body}


def check(value: Any, schema: Schema, name: str) -> Any:
    """Return a value if it is as its schema says; otherwise raise a `RequestError` that says what is wrong.

    Examples
    --------
    >>> check(3, {"type": "integer", "minimum": 1, "maximum": 50}, "k")
    3
    >>> check("both", {"type": "string", "enum": ["source", "target"]}, "side")
    Traceback (most recent call last):
    fipp.explore._operations.RequestError: side must be one of source, target
    """
    kinds = {"string": str, "integer": int, "array": list, "object": dict}
    kind: Any = kinds[schema["type"]]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RequestError(f"{name} must be of the type {schema['type']}")
    if "enum" in schema and value not in schema["enum"]:
        raise RequestError(f"{name} must be one of {', '.join(schema['enum'])}")
    size: int = value if isinstance(value, int) else len(value)
    low = next((schema[key] for key in ("minimum", "minLength", "minItems") if key in schema), size)
    high = next((schema[key] for key in ("maximum", "maxLength", "maxItems") if key in schema), size)
    if not low <= size <= high:
        raise RequestError(f"{name} must be between {low} and {high}{'' if isinstance(value, int) else ' long'}")
    if isinstance(value, list):
        for each in value:
            check(each, schema["items"], f"each of {name}")
    if isinstance(value, dict):
        _check_members(value, schema)
    return value


def _check_members(value: dict[str, Any], schema: Schema) -> None:
    for name in schema["required"]:
        if name not in value:
            raise RequestError(f"{name} is missing")
    for name, member in value.items():
        if name not in schema["properties"]:
            raise RequestError(f"{name[:40]!r} is not known here")
        check(member, schema["properties"][name], name)
