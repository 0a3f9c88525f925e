"""Parts that the build makes: the README of an index page, and the package's stubs."""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|mailto:|#)([^)\s]+)\)")


def absolute(text, repository, version):
    """Markdown whose links lead from anywhere to where they lead to in the repository."""
    files = f"{repository}/blob/v{version}"
    pictures = f"{repository.replace('://github.com/', '://raw.githubusercontent.com/')}/v{version}"
    return _LINK.sub(
        lambda found: f"{found[1]}{pictures if found[1].startswith('!') else files}/{found[2]})",
        text,
    )


class Readme(MetadataHookInterface):
    """The README of an index page: links lead to the repository at this version, and pictures are fetched from there."""

    def update(self, metadata):
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Stubs(BuildHookInterface):
    """The `.pyi` files that stubs.py writes: into the wheel, or for an editable install into the checkout, where git ignores them."""

    def initialize(self, version, build_data):
        root = Path(self.root)
        if version == "editable":
            folder = root / "gradcli"
        else:
            self._folder = TemporaryDirectory()  # until the wheel is written
            folder = self._folder.name
            build_data["force_include"][folder] = "gradcli"
        done = subprocess.run(
            [sys.executable, root / "stubs.py", folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(
                f"stubs.py, which runs gradcli and needs NumPy for it, failed:\n{done.stderr}"
            )
