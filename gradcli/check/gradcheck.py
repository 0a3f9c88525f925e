"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against the reference that the
cross-check of expressions uses; if not (numbers taken out of tensors, a user's `autograd.Function`), against differences extrapolated
to the limit, with their estimated error (C. J. F. Ridders, Advances in Engineering Software 4, 1982). No step or tolerance of the
caller's can make a wrong gradient right or a right one wrong: ``eps``, ``atol`` and ``rtol`` are accepted for the sake of scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.check.extrapolation import slope
from gradcli.language.scope import Scope
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.modes import enable_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced
from gradcli.tensors.transforms.dual_numbers import dual_level, make_dual, unpack_dual

_VECTORS = 1  # random ones, for each output: a wrong row is orthogonal to none of them
_SHOWN = 6  # weights of a sum


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    fast_mode: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True, **_: Any,
) -> bool:  # fmt: skip
    """Whether the gradients of func with respect to the inputs that require grad are right. Raises `GradcheckError` if not."""
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    if not chosen:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    fault = _not_reentrant(func, arguments, chosen, nondet_tol) if check_backward_ad else None
    if fault is None and check_backward_ad:
        fault = _fault(func, arguments, chosen)
    if fault is None and check_forward_ad:
        fault = _forward_fault(func, arguments, chosen)
    if fault is not None and raise_exception:
        raise GradcheckError(fault)
    return fault is None


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, raise_exception: bool = True, **_: Any) -> bool:
    """The same for second derivatives: `gradcheck` of the gradient of func with respect to inputs and seeds."""
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    outputs = _outputs(func(*arguments))
    random = np.random.default_rng(0)
    if grad_outputs is None:
        seeds = tuple(Tensor(random.standard_normal(y.array.shape)).to(y.dtype).requires_grad_() for y in outputs)
    else:
        seeds = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)

    def slopes(*given: Any) -> Any:
        xs = given[: len(arguments)]
        ys = _outputs(func(*xs))
        found = grad(ys, [xs[i] for i in chosen], given[len(arguments) :], create_graph=True, allow_unused=True)
        return tuple(part for part in found if part is not None and part.requires_grad)

    return gradcheck(slopes, (*arguments, *seeds), raise_exception=raise_exception)


def _outputs(result: Any) -> list[Tensor]:
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [y for y in parts if isinstance(y, Tensor) and y.requires_grad]


def _fault(func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int]) -> str | None:
    names = [f"input{i}" for i in chosen]
    with enable_grad():
        bare = [y for y in _parts(func(*arguments)) if not y.requires_grad]
        if bare and not _outputs(func(*arguments)):
            return _moves_nevertheless(func, arguments, chosen)
        result, trace = traced(func, arguments, [arguments[i] for i in chosen], names)
        for y in _outputs(result):
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        exact = not trace.opaque and trace.same_steps(_elsewhere(func, arguments, chosen, names))
        for number, y in enumerate(_outputs(result)):
            judged = _Judged(func, arguments, chosen, names, trace if exact else None, number, y)
            fault = judged.fault()
            if fault is not None:
                return f"Jacobian mismatch for output {number} with respect to {fault}"
    return None


def _parts(result: Any) -> list[Tensor]:
    """The floats of a result."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [y for y in parts if isinstance(y, Tensor) and y.array.dtype.kind == "f"]


def _moves_nevertheless(func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int]) -> str | None:
    """What is said of results that require no gradient and depend on an input; None if they do not."""
    random = np.random.default_rng(0)
    for i in chosen:
        x = arguments[i].array
        moved = Tensor(np.asarray(x * (1 + 1e-3 * random.uniform(0.5, 1, x.shape)) + 1e-3, x.dtype)).requires_grad_()
        there = _parts(func(*[moved if j == i else a for j, a in enumerate(arguments)]))
        if any(not np.array_equal(y.array, z.array, equal_nan=True) for y, z in zip(_parts(func(*arguments)), there, strict=True)):
            return "Numerical gradient for function expected to be zero. No result requires a gradient, and yet they depend on the input"
    return None


def _not_reentrant(func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int], tolerance: float) -> str | None:
    """What is said of gradients that are others each time; None if they are not."""
    outputs = _outputs(func(*arguments))
    if not outputs:
        return None
    seeds = [Tensor(np.ones_like(y.array)) for y in outputs]
    first, second = (grad(outputs, [arguments[i] for i in chosen], seeds, retain_graph=True, allow_unused=True) for _ in range(2))
    for x, y in zip(first, second, strict=True):
        if x is not None and y is not None and not np.allclose(x.array, y.array, rtol=0, atol=tolerance, equal_nan=True):
            return (
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, "
                "although analytical gradient matches numerical gradient"
            )
    return None


def _forward_fault(func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int]) -> str | None:
    """What is wrong in the tangents of forward mode, by each input in a random direction; None if nothing is."""
    random = np.random.default_rng(0)
    bare = [Tensor(a.array) if isinstance(a, Tensor) else a for a in arguments]
    for i in chosen:
        x = bare[i].array
        vector = random.standard_normal(x.shape).astype(x.dtype)
        with dual_level():
            given = [make_dual(a, Tensor(vector)) if j == i else a for j, a in enumerate(bare)]
            result = func(*given)
            outputs = [y for y in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(y, Tensor)]
            tangents = [unpack_dual(y).tangent for y in outputs]
        for number, (y, tangent) in enumerate(zip(outputs, tangents, strict=True)):
            if y.array.dtype.kind != "f":
                continue
            seed = random.standard_normal(y.array.shape).astype(y.array.dtype)

            def along(step: float, i: int = i, x: np.ndarray = x, vector: Any = vector, number: int = number, seed: Any = seed) -> Any:
                moved = Tensor(np.asarray(x + step * vector))
                found = func(*[moved if j == i else a for j, a in enumerate(bare)])
                parts = [p for p in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(p, Tensor)]
                return np.asarray((parts[number].array * seed).sum())

            with np.errstate(all="ignore"):
                wanted = slope(along, 0.0, float(np.finfo(x.dtype).eps))
            said = 0.0 if tangent is None else float((tangent.array * seed).sum())
            low, high = (wanted.value, wanted.value) if wanted.sides is None else sorted(wanted.sides)
            room = 10 * wanted.error + 1e-9 * max(abs(low), abs(high))
            if not low - room <= said <= high + room:
                return (
                    f"Jacobian computed with forward mode mismatch for output {number} with respect to input {i}: {said!r} where "
                    f"differences give {wanted.value!r} (error about {wanted.error:.1g})"
                )
    return None


class _Judged:
    """One output of a function, whose Jacobian is judged by products with it.

    trace  says everything that the function does, or None: then differences decide
    """

    def __init__(
        self, func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int], names: Sequence[str], trace: Trace | None,
        number: int, y: Tensor,
    ) -> None:  # fmt: skip
        self.func, self.arguments, self.chosen, self.names = func, arguments, chosen, names
        self.trace, self.number, self.y = trace, number, y

    def fault(self) -> str | None:
        """An entry of the Jacobian that is wrong, found by products with random vectors."""
        random = np.random.default_rng(0)
        for _ in range(_VECTORS):
            vector = random.standard_normal(self.y.array.shape).astype(self.y.array.dtype)
            wrong = self._wrong(vector)
            if wrong:
                return self._entry(vector, wrong)
        return None

    def _entry(self, vector: Any, wrong: str) -> str:
        """What is wrong in a single row of the Jacobian, by halves of the vector that shows that something is."""
        rows = list(np.ndindex(self.y.array.shape))
        while len(rows) > 1:
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                if self._wrong(_only(vector, half)):
                    rows = half
                    break
            else:
                return f"{wrong}, in the sum over the output's entries with weights {np.ravel(vector).tolist()[:_SHOWN]}"
        found = self._wrong(_only(np.ones_like(vector), rows))
        where = f"output entry {list(rows[0])}, " if rows[0] else ""
        return found.replace(", ", f", {where}input ", 1) if found else wrong

    def _wrong(self, vector: Any) -> str:
        """What is wrong in the product of a vector and the Jacobian ("" if nothing)."""
        inputs = [self.arguments[i] for i in self.chosen]
        found = grad([self.y], inputs, [Tensor(np.asarray(vector))], retain_graph=True, allow_unused=True)
        slopes = [np.zeros_like(x.array) if g is None else g.array for x, g in zip(inputs, found, strict=True)]
        verdict = None
        if self.trace is not None:
            verdict = _by_reference(self.trace, self.y, self.arguments, self.chosen, self.names, vector, slopes)
        if verdict is None:
            verdict = _by_differences(self.func, self.arguments, self.chosen, self.number, vector, slopes)
        return verdict


def _only(vector: Any, rows: Sequence[tuple[int, ...]]) -> Any:
    out = np.zeros_like(vector)
    for row in rows:
        out[row] = vector[row]
    return out


def _elsewhere(func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int], names: Sequence[str]) -> Trace:
    """The trace at another point nearby, to see which of its constants are none."""
    random = np.random.default_rng(1)
    noise = [1 + 1e-3 * random.uniform(-1, 1, arguments[i].array.shape) for i in chosen]
    moved = {i: arguments[i].array * factor for i, factor in zip(chosen, noise, strict=True)}
    found: Trace = _at(arguments, moved, lambda given: traced(func, given, [given[i] for i in chosen], names)[1])
    return found


def _at(arguments: Sequence[Any], moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
    """What a function gives for other entries of some arguments, which stand in the same tensors: it may know them by other names, too."""
    given, kept = list(arguments), {}
    try:
        for i, entries in moved.items():
            x = arguments[i]
            if x.is_leaf and x.array.flags.writeable:
                kept[i] = x.array.copy()
                x.array[...] = entries
            else:
                given[i] = Tensor(np.asarray(entries, x.array.dtype)).requires_grad_()
        return run(given)
    finally:
        for i, entries in kept.items():
            arguments[i].array[...] = entries


def _by_reference(
    trace: Trace, y: Tensor, arguments: Sequence[Any], chosen: Sequence[int], names: Sequence[str], seed: Any, slopes: Sequence[Any]
) -> str | None:
    """What is wrong according to the reference ("" if nothing); None if it cannot decide."""
    scope = Scope(precision="float32" if y.array.dtype == np.float32 else "float64")
    scope.graph = trace.graph
    scope.in_passing = True  # nobody asks for a proof by sympy, nor how a wrong rule could be mended
    for i, name in zip(chosen, names, strict=True):
        scope.values[trace.leaves[name]] = arguments[i].array[()]
        scope.names[name] = trace.leaves[name]
    record = Record("", value=y.array[()], seed=seed[()], grad={n: s[()] for n, s in zip(names, slopes, strict=True)})
    check = cross_check(scope, trace.node_of(y), dict(trace.leaves), record, None)
    if check.verdict in (Verdict.UNDETERMINED, Verdict.SKIPPED, Verdict.UNDEFINED):
        return None
    for i, name in zip(chosen, names, strict=True):
        part = check.variables[name]
        if part.verdict is Verdict.MISMATCH and part.worst is not None:
            worst = part.worst
            return f"input {i}, entry {list(worst.index)}: {worst.engine!r} where the derivative is {worst.reference!r} (exactly)"
    return ""


def _by_differences(
    func: Callable[..., Any], arguments: tuple[Any, ...], chosen: Sequence[int], number: int, seed: Any, slopes: Sequence[Any]
) -> str:
    """What is wrong according to extrapolated differences ("" if nothing)."""
    for i, claimed in zip(chosen, slopes, strict=True):
        x = arguments[i].array.copy()
        for index in np.ndindex(x.shape):

            def along(step: float, i: int = i, x: np.ndarray = x, index: tuple[int, ...] = index) -> Any:
                moved = x.copy()
                moved[index] += step
                try:
                    return _at(arguments, {i: moved}, lambda given: _outputs(func(*given))[number].array * seed)
                except (ArithmeticError, ValueError):  # outside of the domain
                    return np.full(seed.shape, np.nan)

            with np.errstate(all="ignore"):
                found = slope(along, float(x[index]), float(np.finfo(x.dtype).eps))
            said = float(claimed[index])
            low, high = (found.value, found.value) if found.sides is None else sorted(found.sides)
            room = 10 * found.error + 1e-9 * max(abs(low), abs(high))
            if not low - room <= said <= high + room:
                where = f"{found.value!r} (error about {found.error:.1g})" if low == high else f"{low!r} and {high!r} from the two sides"
                return f"input {i}, entry {list(index)}: {said!r} where differences give {where}"
    return ""
