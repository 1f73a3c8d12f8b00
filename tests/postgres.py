"""A real PostgreSQL with pgvector, in a folder of its own."""

import atexit
import shutil
import tempfile
import warnings
from contextlib import contextmanager

import pytest


@contextmanager
def postgres():
    """Start a server, yield its address, and stop it; skip the test if there can be none."""
    psycopg = pytest.importorskip("psycopg")
    folder = tempfile.mkdtemp(prefix="fipp-pg-")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("XDG_RUNTIME_DIR", folder)
        pgserver = pytest.importorskip("pgserver", reason="pgserver, which carries PostgreSQL, cannot be installed")
        try:
            running = pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        except Exception as error:
            pytest.skip(f"PostgreSQL cannot be started here: {error}")
    place = running.get_uri().replace("postgres:@", "postgres@")
    with psycopg.connect(place) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    yield place
    running.cleanup()
    atexit.unregister(running._cleanup)  # it would make the folder again, for a lock
    shutil.rmtree(folder, ignore_errors=True)
