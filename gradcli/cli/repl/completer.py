"""Offers as prompt_toolkit shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from gradcli.cli.repl.offers import offers

_MOST = 500


class Completing(Completer):
    """Completes by the names that the session has at the moment."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for number, offer in enumerate(offers(document.text_before_cursor, self.names())):
            if number == _MOST:
                return
            yield Completion(offer.text, start_position=-offer.replaces, display_meta=offer.meta)
