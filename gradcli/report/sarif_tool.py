"""What a SARIF log says of gradcli itself: its version, its addresses, and every rule with its help."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from gradcli.report.rules import RULES, Rule

_SEVERITIES = {"note": "recommendation", "warning": "warning", "error": "error"}  # GitHub's words for SARIF's levels
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+")


@cache
def driver() -> dict[str, Any]:
    """The tool component; without what the installed package does not say."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        package = metadata("gradcli")
    except PackageNotFoundError:
        known, addresses = {}, {}
    else:
        known = {"version": package["Version"]}
        addresses = dict(line.split(", ", 1) for line in package.get_all("Project-URL") or ())
    if _SEMANTIC.fullmatch(known.get("version", "")):
        known["semanticVersion"] = known["version"]
    documentation = addresses.get("Documentation")
    home = next((addresses[name] for name in ("Homepage", "Repository", "Documentation") if name in addresses), None)
    if home is not None:
        known["informationUri"] = home
    return {"name": "gradcli", **known, "rules": [_descriptor(name, rule, documentation) for name, rule in RULES.items()]}


def _descriptor(name: str, rule: Rule, documentation: str | None) -> dict[str, Any]:
    code = name.removeprefix("error-")
    where = f"`gradcli help {code}` says so in a terminal."
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in code.split("-")),
        "shortDescription": {"text": f"{rule.description}."},
        "fullDescription": {"text": f"{rule.description}. {rule.advice}"},
        "help": {"text": f"{rule.advice}\n\n{where}", "markdown": f"**{rule.description}.**\n\n{rule.advice}\n\n{where}"},
        **({} if documentation is None else {"helpUri": documentation}),
        "defaultConfiguration": {"level": rule.level},
        "properties": {
            "tags": ["gradients", "error" if code != name else "verdict"],
            "precision": rule.precision,
            "problem.severity": _SEVERITIES[rule.level],
        },
    }
