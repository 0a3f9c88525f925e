"""What a point that was tried tells of a statement: whether it is in the domain of what is asked, and in that of the claims."""

from __future__ import annotations

import math

import numpy as np

from gradcli.check.formula_claims import smaller_domain
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Verdict


def inside_domain(record: Record) -> bool:
    """Whether a point is in the domain of what was asked."""
    if record.error is not None or record.check is None or record.check.worst in (Verdict.UNDEFINED, Verdict.SKIPPED):
        return False
    if any(part.verdict is Verdict.UNDEFINED for part in record.check.variables.values()):
        return False  # an infinity on the way, as of 1/(1/x) at 0
    wrong = [claim.worst for claim in record.check.claims if claim.verdict is Verdict.MISMATCH and claim.worst is not None]
    if any(math.isnan(worst.engine) for worst in wrong):
        return False  # outside of the claim's own domain, at a point that nobody asked for
    told = [record.value] if record.asserted is None else [side for part in record.relations for side in (part.left, part.right)]
    return all(bool(np.all(np.isfinite(np.asarray(value, float)))) for value in told)


def what_claims_lack(record: Record) -> dict[int, str]:
    """The claims, by their places, that have no value at or around a point where the function has, and what is to be said of them."""
    if record.check is None:
        return {}
    found = {}
    for i, claim in enumerate(record.check.claims):
        if claim.verdict is Verdict.AGREE and claim.reason is not None:
            found[i] = claim.reason
        if claim.verdict is Verdict.MISMATCH and claim.worst is not None and math.isnan(claim.worst.engine):
            place = ", ".join(f"{name}={float(value)!r}" for name, value in record.point.items())
            found[i] = smaller_domain(place, "value" if claim.of == "value" else "derivative")
    return found


def is_out_of_range(check: Check) -> bool:
    """Return True for a mismatch that only overflow makes: at points of our choice it says nothing of a formula."""
    return check.overflows and not any(claim.verdict is Verdict.MISMATCH for claim in check.claims)
