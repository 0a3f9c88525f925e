"""Claims on several kinks at once, each between the derivatives from both sides.

Together they must lie in the convex hull of the gradients nearby.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcli.check.claims import Given
from gradcli.check.judge import Judge
from gradcli.reference.kinks import Place
from gradcli.report.verdicts import Claim, Verdict

_WORK = 200_000  # most scalar operations for the gradients nearby
_DRAWS, _ROUNDS = 8, 16
_SUM = 1e3  # weight of the condition that the shares of gradients have the sum 1
_ROOM, _APART = 1e-9, 1e-12  # what is no difference of gradients, relative, and of directions


def hold_together(judge: Judge, claims: Sequence[tuple[Claim, Given]]) -> None:
    """Make claims on kinks a mismatch where their numbers together are no subgradient.

    They stay as they are where gradients nearby are not known, or take too much work.

    If no gradient rises faster in a direction than the one beside the point in that direction, the
    function is convex there, if none rises slower, concave. Then the gradients in a direction and
    its opposite are the extreme ones. Otherwise a claim is only held to what all have in common.
    """
    places, room = dict[Place, float](), 0.0
    for _, given in claims:
        x = judge.wrt[given.of]
        said = given.numbers if given.formula is None else judge.float_results(given.formula, [])[0]
        for i, sides in judge.comparison(given.of).sides.items():
            if sides.limit is None:
                if not (sides.probed and sides.finite) or sides.gap:
                    return
                places[x, i] = np.broadcast_to(said, x.shape).flat[i]
                known = given.tolerance * float(max(map(abs, sides.range)))
                room = max(room, known + given.atol + np.max(given.rooms))
    n, prober = len(places), judge.prober
    if prober is None or n < 2 or _DRAWS * n * judge.size > _WORK:
        return
    from scipy.optimize import nnls

    def gradient_beside(direction: np.ndarray) -> np.ndarray:
        # Slightly beside the direction, which may itself lie on a kink.
        steps = direction + _APART * np.arange(n) ** 2
        return np.array(prober.slopes_beside(places, steps)[:-1], float)

    draws = np.random.default_rng(0).standard_normal((_DRAWS * n, n))
    points = np.vstack([np.eye(n), -np.eye(n), draws])
    found = [*map(gradient_beside, points)]
    scale = np.max(np.abs(found))  # of whatever size gradients are, shares have the sum 1
    found, room = [*np.divide(found, scale)], room / scale + _ROOM
    rises = points @ np.transpose(found)
    own, claimed = np.diag(rises)[:, None], np.array([*places.values()]) / scale
    bent_once = (rises <= own + room).all() or (rises >= own - room).all()
    for _ in range(_ROUNDS):
        if not np.isfinite(found).all():
            return
        table = np.vstack([np.transpose(found), np.full(len(found), _SUM)])
        wanted = np.append(claimed, _SUM)
        shares = (nnls(table, wanted) if bent_once else np.linalg.lstsq(table, wanted))[0]
        direction = claimed - shares @ found
        size = np.max(np.abs(direction))
        if size <= room:
            return
        direction /= size
        found += [gradient_beside(way) / scale for way in (direction, -direction)]
        most = np.max(np.dot(found, direction))
        if claimed @ direction - room * np.sum(np.abs(direction)) > most:
            break
    else:
        return
    for claim, _ in claims:
        claim.verdict = Verdict.MISMATCH
        claim.reason = (
            f"no subgradient: along {np.round(direction, 2).tolist()} it has "
            f"{claimed @ direction * scale:.6g}, gradients nearby at most {most * scale:.6g}"
        )
