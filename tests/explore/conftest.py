"""The fixture of the explorer's tests."""

import pytest
from explored import new_session, prepared, serving


@pytest.fixture
def client():
    with serving(new_session(second=True)) as client:
        prepared(client)
        yield client
