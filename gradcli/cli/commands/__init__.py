"""The commands, each a typer application of its own, so that the options of one are built only if it is asked for."""

from typing import Any

STYLE: dict[str, Any] = {
    "add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}  # fmt: skip
