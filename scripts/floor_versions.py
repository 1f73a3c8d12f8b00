"""Print the oldest versions of all dependencies that pyproject.toml allows, as constraints for pip.

    python scripts/floor_versions.py > floor.txt
    pip install --constraint floor.txt '.[test]'

`make floor` runs the tests with them. Only what fipp itself imports has a floor: the libraries that the tests compare
with are as new as the others allow.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# Extras of tests and tools, not of fipp.
NOT_FLOORED = ("test", "peers", "docs", "dev")
# The oldest typer and matplotlib call names of these libraries that newer versions deprecate.
OF_THE_SAME_TIME = ["click==8.2.*", "pyparsing==3.2.*"]
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,.-]+\])?>=([\d.]+)")


def constraints(project: dict[str, Any]) -> list[str]:
    """Return one constraint for each dependency and what goes with it, such as ``numpy==1.26.*``."""
    extras = project["optional-dependencies"]
    given = [*project["dependencies"], *(each for name in extras if name not in NOT_FLOORED for each in extras[name])]
    return [f"{found[1]}=={found[2]}.*" for each in given if (found := REQUIREMENT.match(each))] + OF_THE_SAME_TIME


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"])) + "\n")
