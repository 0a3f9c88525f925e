"""Plans: a value and its gradients as one program, compiled once for shapes and run many times.

value and gradients ──sweep──▶ joint graph ──fold──▶ smaller graph ──cut──▶ stretches in blocks,
by NumPy, or ──read in index form──▶ nests of loops, in C.

A plan gives what the forward pass and the sweep give, to a few units in the last place. Its program
assumes that all is finite. Where something is not, the result is computed again, by the forward
pass and the sweep. Where all arrays are small, a program of Python's floats comes before
(unrolling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.errors import NativeError
from gradcli.graph.nodes import Expr, Graph, bytes_of, scratch_of, size_of
from gradcli.plans.assembly import Compiled, Writer, compile_source, deliver, last_uses
from gradcli.plans.backend import ONCE, choose_backend, explain_choice, work_of
from gradcli.plans.blocks import Cutter, Step, Stretch
from gradcli.plans.folding import Folder
from gradcli.plans.index_form import Expander
from gradcli.plans.nests import Nest, plan_steps
from gradcli.plans.source import Source, Subject
from gradcli.plans.unrolling import unroll, unrolled_text

# -- How much memory a plan holds at once: the arrays that its steps make, each until it is read
# for the last time.


def most_held(steps: Sequence[Step], roots: Sequence[Expr]) -> int:
    """Return the most bytes that a schedule holds in addition to its inputs."""
    ends = last_uses(steps, roots)
    sizes: dict[Expr, int] = {}
    live = most = 0
    for place, step in enumerate(steps):
        if isinstance(step, Expr):
            made = {step: bytes_of(step)}
            most = max(most, live + sum(made.values()) + scratch_of(step))
        else:
            made = {node: size_of(node) for node in step.outputs}
        sizes |= made
        live += sum(made.values())
        most = max(most, live)
        live -= sum(sizes.pop(node, 0) for node in ends.get(place, ()))
    # Views and inputs are returned as copies.
    copied = sum(size_of(root) for root in dict.fromkeys(roots) if sizes.get(root, 0) == 0)
    return max(most, live + copied)


class Plan:
    """The results of a subject, such as a value and its gradients, as a function of leaves.

    - ``leaves``: those that take values, in order
    - ``backend``: what runs the loops: "numpy", "native", or "auto", for which a count decides
      (backend.py)
    - ``threads``: the most threads that share the loops; None for as many as there are cores. They
      change no bit
    - ``calls``: for how many calls the plan is made
    - ``derived``: how many of the last results are derivatives in directions of zeros and ones
    """

    def __init__(
        self,
        subject: Subject,
        leaves: Sequence[Expr],
        precision: str,
        *,
        backend: str = "auto",
        threads: int | None = None,
        calls: int = ONCE,
        derived: int = 0,
    ) -> None:
        self.subject = subject
        self.leaves = list(leaves)
        self.precision = precision
        self.threads = threads
        roots, risky = self._fold()
        self.work = work_of(roots)
        self.calls = calls
        self._derived = derived
        self.asked = backend
        self.backend = choose_backend(backend, self.work, calls)
        self.memory = 0  # bytes that it holds at once besides its inputs, including results
        self._hindrance = "no C compiler works"  # why no native code runs where it is worth it
        self._unrolled = unroll(leaves, roots, derived) if precision == "float64" else None
        if self._unrolled is None:
            self._speculative = compile_source(self._write(roots, risky))

    def __call__(self, values: Sequence[Any], out: Sequence[Any] = ()) -> list[Any]:
        """Return the results in new arrays, or in those of ``out``.

        The arrays of ``out`` are contiguous, of the right dtype and shape, and no inputs.
        """
        if self._unrolled is not None:
            try:
                found = self._unrolled(*values, *out) if out else self._unrolled(*values)
            except (ArithmeticError, ValueError):
                found = None
            if found is not None:
                return found
        try:
            results, checks = self._speculative(*values, *out)
        except (ArithmeticError, ValueError, TypeError):
            # Python's floats raise where NumPy gives an infinity or NaN. A genuine error is raised
            # again below.
            pass
        else:
            if not checks or np.isfinite(checks).all():
                return results
        return self._interpret(values, out)

    @property
    def is_unrolled(self) -> bool:
        """Return whether it is a program on Python's floats."""
        return self._unrolled is not None

    def text(self) -> str:
        """Return the program for people to read, with the reason why it runs where it does."""
        roots, risky = self._fold()
        small = (
            unrolled_text(self.leaves, roots, self._derived) if self._unrolled is not None else None
        )
        source = self._write(roots, risky) if small is None else small
        return f"{explain_choice(self.backend, self.asked, self.work, self.calls, self._hindrance)}\n\n{source.text()}\n"

    def _fold(self) -> tuple[list[Expr], bool]:
        """Return the subject's nodes, folded together, and whether folding took risks."""
        folder = Folder(Graph(self.subject.graph.limits), assume_finite=True)
        return folder.fold(self.subject.roots), folder.risky

    @cached_property
    def _speculative(self) -> Compiled:
        return compile_source(self._write(*self._fold()))

    def _write(self, roots: Sequence[Expr], risky: bool) -> Source:
        roots = Expander(Graph(self.subject.graph.limits)).expand(roots)
        if self.backend == "native":
            try:
                source = self._native(roots)
                self._hindrance = "it has no loops for C"
            except NativeError:
                if self.asked == "native":
                    raise
                # There may be no room for the compiler's files.
                source = None
                self._hindrance = "C cannot be compiled"
            if source is not None:
                return source
            self.backend = "numpy"
        # Infinities of Python's floats arise in other ways than NumPy's.
        has_floats = any(not leaf.shape for leaf in self.leaves)
        steps = Cutter(roots).steps()
        checked = (
            risky
            or has_floats
            or self.subject.decides
            or any(isinstance(step, Stretch) for step in steps)
        )
        self.memory = most_held(steps, roots)
        return Writer(roots, steps, self.precision, checked=checked).write(self.leaves)

    def _native(self, roots: Sequence[Expr]) -> Source | None:
        """Return the program with its nests in C.

        It is None if there are no nests, or if one of them cannot be run.
        """
        from gradcli.plans.native.program import in_c

        steps = plan_steps(roots)
        nests = [step for step in steps if isinstance(step, Nest)]
        if not nests or not all(nest.is_possible for nest in nests):
            return None
        self.memory = most_held(steps, roots)
        functions = dict(zip(nests, in_c(nests, self.precision, self.threads), strict=True))
        writer = Writer(roots, steps, self.precision, checked=True, functions=functions)
        return writer.write(self.leaves)

    def _interpret(self, values: Sequence[Any], out: Sequence[Any]) -> list[Any]:
        """Array by array."""
        given = {
            leaf: np.asarray(value)[()] for leaf, value in zip(self.leaves, values, strict=True)
        }
        results = self.subject.interpret(given, self.precision)
        outs = [*out, *[None] * (len(results) - len(out))]
        return [
            deliver(result, array) if np.ndim(result) else result
            for result, array in zip(results, outs, strict=True)
        ]
