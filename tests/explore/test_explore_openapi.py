"""The API does what its OpenAPI document says, for requests that are right and for those that are wrong."""

import pytest
from explored import ADDRESS, new_session, prepared, serving
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fipp.explore._operations import OPERATIONS, document

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
HOST = {"host": "127.0.0.1:8000"}


@pytest.fixture(scope="module")
def described():
    with serving(new_session(second=True)) as client:
        prepared(client)
        schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json").json())
        schema.app = client.app
        schema.config.update(base_url=ADDRESS)
        yield schema


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS])
def test_answers_are_as_the_document_says(described, name):
    operation = described.find_operation_by_id(name)
    modes = schemathesis.GenerationMode
    wrong = operation.as_strategy(generation_mode=modes.NEGATIVE) if takes_anything(name) else st.nothing()

    @settings(max_examples=10, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=modes.POSITIVE) | wrong)
    def check(case):
        case.call_and_validate(headers=HOST)

    check()


def takes_anything(name):
    operation = next(each for each in OPERATIONS if each.name == name)
    return bool(operation.parameters or operation.body)


def test_the_document_is_valid_openapi():
    schemathesis.openapi.from_dict(document()).validate()
