"""What is asked about a function, in Python and on the command line: whose gradient, JVP or adjoint is held, and what it solves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gradcli.errors import UsageError
from gradcli.functions.differences import JVP
from gradcli.functions.frameworks import FORWARD
from gradcli.functions.implicit import ADJOINT, FIXED_POINT, RESIDUAL

GRADIENT = "gradient"
_KINDS = {"gradient": GRADIENT, "jvp_of": JVP, "adjoint": ADJOINT}  # by the options that give them
_EQUATIONS = {"implicit": RESIDUAL, "fixed_point": FIXED_POINT}
OPTIONS = (*_KINDS, *_EQUATIONS)
_WORDS = {GRADIENT: "gradient", JVP: "JVP", ADJOINT: "adjoint"}


class Asked(NamedTuple):
    """One claim and, where the function solves an equation, that: functions, or what names them.

    claim  None where a framework's own is held, or an operator's
    """

    kind: str
    claim: Any = None
    solves: str | None = None
    equation: Any = None

    def title(self, by: str | None, order: int, name: Callable[[Any], str]) -> str:
        """Whose derivative it is, in words."""
        what = "Hessian" if order == 2 else _WORDS[self.kind]
        if by is not None:
            return f"{by}'s own {what}"
        return f"the {what} {name(self.claim)}" if self.claim is not None else f"its own {what}"


def asked(
    given: Mapping[str, Any], by: str | None, order: int, spelled: Callable[[str], str], *, alone: bool, forward: bool = False
) -> Asked:
    """What some options ask, of those that are not None. Raises UsageError for what does not go together.

    spelled  an option as the user writes it
    forward  whether a framework's forward mode is held
    alone    whether an object may come without: an operator, which has an adjoint
    """
    claims = [name for name in _KINDS if given[name] is not None]
    equations = [name for name in _EQUATIONS if given[name] is not None]
    if len(claims) + (by is not None) != 1 and not (alone and not claims and not equations and by is None and order == 1):
        names = [spelled(name) for name in _KINDS]
        raise UsageError(
            f"the gradient of a function is somebody's or a framework's: give one of {', '.join(names)} and {spelled('by')}",
            help="an object with matvec and rmatvec has its own adjoint, and goes alone",
        )
    if len(equations) > 1:
        raise UsageError(f"{spelled('implicit')} and {spelled('fixed_point')} exclude each other")
    if forward and by not in FORWARD:
        raise UsageError(f"{spelled('forward')} goes with {spelled('by')} {' or '.join(FORWARD)}")
    own = JVP if forward else GRADIENT
    kind = _KINDS[claims[0]] if claims else own if by is not None else ADJOINT
    if kind != GRADIENT:
        for name in [*(["order"] if order == 2 else []), *equations]:
            raise UsageError(
                f"{spelled(claims[0] if claims else 'forward')} and {spelled(name)} exclude each other",
                help=f"{spelled(name)} goes with a gradient",
            )
    if equations and order == 2:
        raise UsageError(f"{spelled(equations[0])} and {spelled('order')} exclude each other", help="second derivatives are not solved for")
    claim = given[claims[0]] if claims else None
    return Asked(kind, claim, *((_EQUATIONS[equations[0]], given[equations[0]]) if equations else ()))
