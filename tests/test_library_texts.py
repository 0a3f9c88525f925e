"""Modules of torch.nn, torch.distributions and the parts of JAX are what the libraries are: values
and gradients as recorded from them.
"""

from __future__ import annotations

import pytest
from oracles.texts import TEXTS
from oracles.told import text_faults

CASES = [(library, text) for library, texts in TEXTS.items() for text in texts]


@pytest.mark.parametrize(("library", "text"), [pytest.param(*case, id=case[1]) for case in CASES])
def test_a_text_is_what_the_library_makes_of_it(library: str, text: str) -> None:
    assert list(text_faults(library, text)) == []
