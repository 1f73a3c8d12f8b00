"""What `pip install fipp` gives: a light import, a whole wheel, and every public thing documented."""

import inspect
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fipp

ROOT = Path(__file__).resolve().parents[1]


def run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_fipp_imports_nothing_heavy():
    code = "import fipp, sys; print(*sys.modules)"
    loaded = {name.split(".")[0] for name in run("-c", code).split()}
    assert not loaded & {
        "torch",
        "matplotlib",
        "typer",
        "rich",
        "pandas",
        "polars",
        "pyarrow",
        "dask",
        "faiss",
        "numba",
    }


@pytest.mark.parametrize("name", sorted(set(fipp.__all__) - {"__version__", "datasets"}))
def test_everything_public_is_documented(name):
    documented = inspect.getdoc(getattr(fipp, name)) or ""
    assert len(documented) > 20


def test_the_wheel_is_whole_and_installs(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("fipp-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "fipp/py.typed" in names and "fipp/datasets/demo/en.safetensors" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]

    site = tmp_path / "site"
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    code = "import fipp; assert 'site' in fipp.__file__, fipp.__file__; print(len(fipp.datasets.load_demo().source))"
    assert run("-c", code, PYTHONPATH=str(site)).strip() == "8000"
