"""The lowest versions that pyproject.toml allows, as exact requirements: of what gradcli needs, and
of what its tests need.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(
    (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
)["project"]

for requirement in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]):
    version = requirement.partition(";")[0]  # without the systems that it is for
    if version.count(">=") != 1:
        sys.exit(f"no lowest version: {requirement}")
    print(version.replace(">=", "=="))
