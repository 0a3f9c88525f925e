"""The README of a package: on an index page, links lead to the repository at this version, and pictures are fetched from there."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|mailto:|#)([^)\s]+)\)")


def absolute(text, repository, version):
    """Markdown whose links lead from anywhere to where they lead to in the repository."""
    files = f"{repository}/blob/v{version}"
    pictures = f"{repository.replace('://github.com/', '://raw.githubusercontent.com/')}/v{version}"
    return _LINK.sub(lambda found: f"{found[1]}{pictures if found[1].startswith('!') else files}/{found[2]})", text)


class Readme(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata):
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
