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
_LEVEL = 1e-9  # a difference of gradients that is none, relative to the largest


def hold_together(judge: Judge, said: Sequence[tuple[Claim, Given, np.ndarray]]) -> None:
    """Make claims on kinks a mismatch where their numbers together are no subgradient.

    They stay as they are where gradients nearby are not known, or take too much work.

    If no gradient rises faster in a direction than the one beside the point in that direction, the
    function is convex there, if none rises slower, concave. Then the gradients in a direction and
    its opposite are the extreme ones. Otherwise a claim is only held to what all have in common.
    """
    from scipy.optimize import nnls

    places, room = dict[Place, float](), 0.0
    for _, given, numbers in said:
        for i, sides in judge.comparison(given.of).sides.items():
            if sides.limit is None:
                if not (sides.probed and sides.finite) or sides.gap:
                    return
                places[judge.wrt[given.of], i] = numbers.flat[i]
                known = given.tolerance * float(max(map(abs, sides.range)))
                room = max(room, known + given.atol + np.max(given.rooms))
    n, prober = len(places), judge.prober
    if prober is None or n < 2 or _DRAWS * n * judge.size > _WORK:
        return
    sizes = np.array([float(prober.sizes[x][i]) for x, i in places])
    claimed = sizes * [*places.values()]
    draws = np.random.default_rng(0).standard_normal((_DRAWS * n, n))
    points = np.vstack([np.eye(n), -np.eye(n), draws])
    found = [prober.beside(places, point) for point in points]
    level = _LEVEL * np.max(np.abs(found))
    rises = points @ np.transpose(found)
    own, wanted = np.diag(rises)[:, None], np.append(claimed, _SUM)
    bent_once = (rises <= own + level).all() or (rises >= own - level).all()
    for _ in range(_ROUNDS):
        if not np.isfinite(found).all():
            return
        table = np.vstack([np.transpose(found), np.full(len(found), _SUM)])
        shares = (nnls(table, wanted) if bent_once else np.linalg.lstsq(table, wanted))[0]
        direction = claimed - shares @ found
        found += [prober.beside(places, way) for way in (direction, -direction)]
        most = np.max(np.dot(found, direction))
        if claimed @ direction - (room * sizes + level) @ np.abs(direction) > most:
            break
    else:
        return
    size = np.max(np.abs(direction))
    for claim, *_ in said:
        claim.verdict = Verdict.MISMATCH
        claim.reason = (
            f"no subgradient: along {np.round(direction / size, 2).tolist()} it has "
            f"{claimed @ direction / size:.6g}, gradients nearby at most {most / size:.6g}"
        )
