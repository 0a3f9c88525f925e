"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against the references that the
cross-check of expressions uses; if not (numbers taken out of tensors, a user's `autograd.Function`), against differences extrapolated
to the limit, with their estimated error. Right gradients pass at any step and tolerance, wrong ones only if a caller gives a tolerance
that allows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.functions.arguments import Seeds, Subject
from gradcli.functions.differences import JVP, along, by_differences
from gradcli.graph.nodes import reachable
from gradcli.report.records import Record
from gradcli.report.verdicts import VariableCheck, Verdict
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, enable_grad, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced
from gradcli.tensors.transforms.derivatives import dual_level, make_dual, unpack_dual

if TYPE_CHECKING:
    from gradcli.check.judge import Judge

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's, of which a caller may give only one
_NEARBY = 1e-3  # of an entry: how far points nearby are moved
_SURE = 1e-9  # relative: what differences are not asked for
_SHOWN = 6  # weights of a sum


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float | None = None, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Return whether the gradients of func with respect to the inputs that require grad are right. Raises `GradcheckError` if not.

    eps                   the widest step where differences decide; None for several, down to what rounding leaves
    atol, rtol            how far an entry of the Jacobian may be from the truth; None of both: as far as rounding explains
    raise_exception       False to be told by the result
    nondet_tol            how far gradients of two passes may be apart, and each from the truth
    check_undefined_grad  whether rules must take gradients that are not there for zeros
    check_grad_dtypes     whether gradients must have their input's dtype
    check_forward_ad      whether tangents are checked
    check_backward_ad     whether gradients are checked
    fast_mode             what is wrong is told of a sum of the Jacobian's rows, and not looked for in each
    masked                whether a gradient of zeros must be zero to rounding only
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    given = atol is not None or rtol is not None
    absolute, relative = (_ATOL if atol is None else atol, _RTOL if rtol is None else rtol) if given else (0.0, 0.0)
    tolerance = _Tolerance(absolute + nondet_tol, relative, nondet_tol, eps, fast_mode, check_grad_dtypes)

    def faults() -> Iterator[str | None]:
        function = _Function(func, arguments)
        if check_backward_ad:
            yield _backward_fault(function, tolerance)
        if check_forward_ad:
            yield from (_tangent_fault(function, i, tolerance) for i in function.chosen)
        if check_backward_ad:
            yield _fault_of_zeros(function, bool(masked))
            if check_undefined_grad:
                yield _fault_of_nothing(function)

    with enable_grad():
        fault = next(filter(None, faults()), None)
    if fault is not None and raise_exception:
        raise GradcheckError(fault)
    return fault is None


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:  # fmt: skip
    """Return the same for second derivatives: `gradcheck` of the gradient of func with respect to inputs and seeds.

    grad_outputs        the seeds; None for random ones
    check_fwd_over_rev  whether tangents of the gradient are checked
    check_rev_over_rev  whether gradients of the gradient are checked
    options             the others of `gradcheck`
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    chosen = [i for i, x in enumerate(arguments) if _moves(x)]
    seeds = _as_tuple(grad_outputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        with enable_grad():
            outputs = _differentiable(func(*arguments))
        seeds = tuple([Tensor(random.uniform(-1, 1, y.shape).astype(y.array.dtype)).requires_grad_() for y in outputs])
    moving = [i for i, x in enumerate((*arguments, *seeds)) if _moves(x)]

    def slopes(*given: Any) -> Any:
        for i in moving:  # in forward mode they come without
            given[i].requires_grad_()
        xs = given[: len(arguments)]
        found = grad(_differentiable(func(*xs)), [xs[i] for i in chosen], given[len(arguments) :], create_graph=True, allow_unused=True)
        return tuple([part for part in found if part is not None])

    return gradcheck(
        slopes, (*arguments, *seeds), check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options
    )  # fmt: skip


def _check_inputs(arguments: tuple[Any, ...]) -> None:
    """Raise unless some input requires grad, and can be moved entry by entry."""
    for i, x in enumerate(arguments):
        if not _moves(x):
            continue
        if x.array.dtype != np.float64:
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. What is checked of it is right to "
                f"the digits of {x.dtype} only."
            )
        if not all(stride > 0 or size <= 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            )
    if not any(map(_moves, arguments)):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _moves(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(result: Any) -> list[Tensor]:
    return list(filter(_moves, _as_tuple(result)))


def _floats(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.array.dtype.kind in FLOATS]


class _Function:
    """A function at one point, at which it has run once.

    floats   the results that are floats
    outputs  those that require grad
    """

    def __init__(self, func: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.func, self.arguments = func, arguments
        self.chosen = [i for i, x in enumerate(arguments) if _moves(x)]
        self.inputs: list[Tensor] = [arguments[i] for i in self.chosen]
        self.names = [f"input{i}" for i in self.chosen]
        self.plain = [a.detach() if isinstance(a, Tensor) else a for a in arguments]
        result, self._run = traced(func, arguments, self.inputs, self.names)
        self.floats, self.outputs = _floats(result), _differentiable(result)
        arrays = {name: x.array.copy() for name, x in zip(self.names, self.inputs, strict=True)}
        self.subject = Subject(self._numbers, arrays, self.names, lambda _name, _value, numbers: numbers)

    def _numbers(self, *arrays: np.ndarray) -> Any:
        """Return its results that are floats: copies, for they may share the memory of what is moved back."""
        moved = dict(zip(self.chosen, arrays, strict=True))
        return self.at(moved, lambda given: [y.array.copy() for y in _floats(self.func(*given))])

    @cached_property
    def trace(self) -> Trace | None:
        """Trace what the function does, if that says everything: nothing that requires grad comes from nowhere, and its constants are some
        at the points nearby, too, on either side."""
        trace = self._run
        for y in self.outputs:
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        whole = True
        for side in (1, -1):
            result, other = self._nearby(side)
            for y, z in zip(self.outputs, _differentiable(result), strict=False):
                for what in ("shape", "dtype"):
                    if getattr(y, what) != getattr(z, what):
                        raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed")
            whole = whole and not trace.opaque and trace.same_steps(other)
        return trace if whole else None

    def _nearby(self, side: int) -> tuple[Any, Trace]:
        random = np.random.default_rng(1)
        noise = [1 + side * _NEARBY * random.uniform(-1, 1, x.array.shape) for x in self.inputs]
        moved = {i: self.arguments[i].array * factor for i, factor in zip(self.chosen, noise, strict=True)}
        found: tuple[Any, Trace] = self.at(moved, lambda given: traced(self.func, given, [given[i] for i in self.chosen], self.names))
        return found

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """Run it with other entries in some arguments: in the same tensors, which a function may know by other names, too."""
        given, kept = list(self.arguments), {}
        try:
            for i, entries in moved.items():
                x = self.arguments[i]
                if x.is_leaf and x.array.flags.writeable:
                    kept[i] = x.array.copy()
                    x.array[...] = entries
                else:
                    given[i] = Tensor(np.asarray(entries, x.array.dtype)).requires_grad_()
            return run(given)
        finally:
            for i, entries in kept.items():
                self.arguments[i].array[...] = entries

    def gradients(self, outputs: Sequence[Tensor], cotangents: Sequence[np.ndarray]) -> tuple[Tensor | None, ...]:
        """Return the products of cotangents of some results with the Jacobian; the graph is kept.

        A rule may write into its cotangent, which is a copy.
        """
        if not outputs:
            return ()
        copies = [Tensor(cotangent.copy()) for cotangent in cotangents]
        return grad(outputs, self.inputs, copies, retain_graph=True, allow_unused=True)


# -- Sums of a Jacobian's rows before the references: those of whole arrays first, which are quick, and those of multi-precision.


def _by_reference(
    function: _Function, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]
) -> Mapping[str, VariableCheck] | None:
    """Return the verdicts of the references on the gradient by each input; None if they cannot decide.

    Whole arrays in long double are asked first: what agrees with them, within what rounding explains, is right. What does not is asked
    for in multi-precision.
    """
    from gradcli.check.crosscheck import cross_check
    from gradcli.check.judge import Judge
    from gradcli.language.scope import Scope

    scope = Scope(precision="float32" if y.array.dtype == np.float32 else "float64")
    scope.graph = trace.graph
    scope.in_passing = True  # nobody asks for a proof by sympy, nor how a wrong rule could be mended
    for name, x in zip(function.names, function.inputs, strict=True):
        scope.values[trace.leaves[name]] = x.array[()]
        scope.names[name] = trace.leaves[name]
    found = {name: slope[()] for name, slope in zip(function.names, slopes, strict=True)}
    root, wrt = trace.node_of(y), dict(trace.leaves)
    if _agrees(Judge(scope, root, wrt, weights[()], found)):
        return {}
    check = cross_check(scope, root, wrt, Record("", value=y.array[()], seed=weights[()], grad=found), None)
    return None if check.verdict in (Verdict.UNDETERMINED, Verdict.SKIPPED, Verdict.UNDEFINED) else check.variables


def _agrees(judge: Judge) -> bool:
    """Return whether gradients are plainly those of the reference on whole arrays."""
    from gradcli.errors import LimitError
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.deadline import Undecided

    try:
        decided = judge.decide_arrays(None)
    except (Unsupported, Undecided, LimitError, ArithmeticError, ValueError, TypeError, IndexError):
        return False
    return decided is not None and all(part.verdict is Verdict.AGREE for part in decided[1].values())


class _Tolerance(NamedTuple):
    """The errors that a caller allows beyond rounding: how far entries of the Jacobian may be from the truth.

    noise   how far gradients of two passes may be apart
    step    the widest one of differences, or None
    sums    whether sums of the Jacobian's rows are judged, and no rows by themselves
    dtypes  whether gradients must have their input's dtype, and tangents their value's
    """

    absolute: float
    relative: float
    noise: float
    step: float | None
    sums: bool
    dtypes: bool

    def verdict(self, subject: Subject, name: str, seeds: Seeds, claimed: np.ndarray, weight: float | None) -> VariableCheck:
        """Return the verdict of differences.

        weight  of the sum whose derivative it is; None where nothing is allowed
        """
        rtol, atol = (_SURE, 0.0) if weight is None else (self.relative, self.absolute * weight)
        return by_differences(subject, name, seeds, claimed, rtol, atol, self.step)


def _told(part: VariableCheck | None, how: str = "") -> str:
    """Return which derivative is wrong ("" if none is), or cannot be known, for the function has no value beside the point."""
    if part is None or part.worst is None or (part.verdict is not Verdict.MISMATCH and np.isfinite(part.worst.reference)):
        return ""
    worst = part.worst
    entry = f", entry {list(worst.index)}"
    return f"{entry}: {worst.engine!r} where the derivative is {worst.reference!r} ({how or part.reason})"


def _backward_fault(function: _Function, tolerance: _Tolerance) -> str | None:
    """Return what is wrong in the Jacobian as backward passes give it; None if nothing is."""
    if function.outputs:
        trace = function.trace
        faults = (_Rows(function, trace, number, y, tolerance).fault() for number, y in enumerate(function.outputs))
        return next(filter(None, faults), None)
    there = function.subject.numbers({name: x * (1 + _NEARBY) + _NEARBY for name, x in function.subject.floats.items()})
    if all(np.array_equal(y, z, equal_nan=True) for y, z in zip(function.subject.value, there, strict=True)):
        return None
    return "Numerical gradient for function expected to be zero. No result requires a gradient, and yet they depend on the input"


class _Rows:
    """One output of a function, whose rows of the Jacobian are judged by a sum of them with random weights: a wrong row is orthogonal to
    no such vector.

    trace  says everything that the function does, or None: then differences decide
    """

    def __init__(self, function: _Function, trace: Trace | None, number: int, y: Tensor, tolerance: _Tolerance) -> None:
        self.function, self.trace, self.number, self.y, self.tolerance = function, trace, number, y, tolerance

    def fault(self) -> str | None:
        """An entry of the Jacobian that is wrong, and that the caller does not allow to be."""
        y, tolerance = self.y.array, self.tolerance
        weights = np.asarray(np.random.default_rng(0).standard_normal(y.shape).astype(y.dtype))
        found, again = (self.function.gradients([self.y], [weights]) for _ in range(2))
        irregular = self._irregular(found, again)
        if irregular is not None:
            return irregular
        wrong = self._wrong(weights, self._filled(found))
        if not wrong:
            return None
        prefix = f"Jacobian mismatch for output {self.number} with respect to "
        allowed = bool(tolerance.absolute or tolerance.relative)
        rows = [] if tolerance.sums else list(np.ndindex(y.shape))
        while not allowed and len(rows) > 1:  # the half in which something is wrong
            half = rows[: len(rows) // 2]
            some = _only(weights, half)
            rows = half if self._wrong(some, self._slopes(some)) else rows[len(half) :]
        for row in rows:
            one = _only(np.ones_like(weights), [row])
            said = self._wrong(one, self._slopes(one), allowed)
            if said:
                return prefix + said.replace(", ", f", output entry {list(row)}, input " if row else ", input ", 1)
        if allowed:
            wrong = self._wrong(weights, self._slopes(weights), allowed) if tolerance.sums else ""
        of_sum = f", in the sum over the output's entries with weights {np.ravel(weights).tolist()[:_SHOWN]}"
        return prefix + wrong + of_sum if wrong else None

    def _irregular(self, found: Sequence[Tensor | None], again: Sequence[Tensor | None]) -> str | None:
        """Return what is wrong in gradients of two passes, whatever the right ones are: others each time, or of another dtype."""
        noise = self.tolerance.noise
        for part, other, x in zip(found, again, self.function.inputs, strict=True):
            if part is None or other is None:
                continue
            if self.tolerance.dtypes and part.dtype != x.dtype:
                return f"Gradient has dtype mismatch: {part.dtype} of an input of {x.dtype}"
            if not (np.array_equal(part.array, other.array) or np.allclose(part.array, other.array, rtol=0, atol=noise, equal_nan=True)):
                return f"Backward is not reentrant: it gives different values each time. The tolerance for nondeterminism was {noise}."
        return None

    def _slopes(self, weights: np.ndarray) -> list[np.ndarray]:
        """The sum of rows as a backward pass gives it."""
        return self._filled(self.function.gradients([self.y], [weights]))

    def _filled(self, found: Sequence[Tensor | None]) -> list[np.ndarray]:
        return [np.zeros_like(x.array) if g is None else g.array.copy() for x, g in zip(self.function.inputs, found, strict=True)]

    def _wrong(self, weights: np.ndarray, slopes: Sequence[np.ndarray], allowed: bool = False) -> str:
        """Return what is wrong in a sum of rows ("" if nothing), or what is not allowed to be."""
        function, parts = self.function, None
        if self.trace is not None and not allowed:
            parts = _by_reference(function, self.trace, self.y, weights, slopes)
        weight = float(np.abs(weights).sum()) if allowed else None
        seeds = [weights if z is self.y else np.zeros(z.shape) for z in function.floats]
        for i, name, claimed in zip(function.chosen, function.names, slopes, strict=True):
            if parts is not None:
                said = _told(parts.get(name), "exactly")
            else:
                said = _told(self.tolerance.verdict(function.subject, name, seeds, claimed, weight))
            if said:
                return f"input {i}{said}"
        return ""


def _only(weights: np.ndarray, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    out = np.zeros_like(weights)
    for row in rows:
        out[row] = weights[row]
    return out


def _tangent_fault(function: _Function, i: int, tolerance: _Tolerance) -> str | None:
    """Return what is wrong in the tangents of forward mode by one input, in a random direction; None if nothing is."""
    random, plain = np.random.default_rng(i), function.plain
    x = plain[i].array
    vector = np.asarray(random.standard_normal(x.shape).astype(x.dtype))
    with dual_level():
        given = list(plain)
        for j in function.chosen:  # the others move by zeros
            given[j] = make_dual(plain[j], Tensor(vector if j == i else np.zeros_like(plain[j].array)))
        moving = [unpack_dual(y) for y in _floats(function.func(*given))]

    stepped = along(function.subject, {f"input{i}": vector})
    for number, (y, tangent) in enumerate(moving):
        if tolerance.dtypes and tangent is not None and tangent.dtype != y.dtype:
            return f"Forward AD gradient has dtype mismatch: {tangent.dtype} of a value of {y.dtype}"
        weights = random.standard_normal(y.array.shape).astype(y.array.dtype)
        said = np.asarray(0.0 if tangent is None else float((tangent.array * weights).sum()))
        seeds = [weights if k == number else np.zeros(z.shape) for k, z in enumerate(function.floats)]
        weight = float(np.abs(weights).sum() * np.abs(vector).sum())
        wrong = _told(tolerance.verdict(stepped, JVP, seeds, said, weight))
        if wrong:
            return f"Jacobian computed with forward mode mismatch for output {number} with respect to input {i}{wrong}"
    return None


# -- What gradients of a function must be beside right, as ``gradcheck`` asks: zero where nothing comes
# in. Each check gives what is wrong, or None.


_BREAKING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    'this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_UNDEFINED = "Expected backward function to handle undefined output grads"
_NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero"


def _fault_of_zeros(function: _Function, roughly: bool) -> str | None:
    """Return whether zeros as cotangents give zeros as gradients.

    roughly  to rounding
    """
    for found in _of_zeros(function, function.outputs):
        if found is not None and not (np.allclose(found.array, 0) if roughly else not found.array.any()):
            return f"backward not multiplied by grad_output: {_largest(found)!r} of a cotangent of zeros"
    return None


def _of_zeros(function: _Function, outputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    return function.gradients(outputs, [np.zeros_like(y.array) for y in outputs])


def _largest(found: Tensor) -> float:
    return float(np.max(np.abs(found.array)))


def _fault_of_nothing(function: _Function) -> str | None:
    """Return whether rules and hooks of the user's take gradients that are not there for zeros: all of them, and those of one result."""
    outputs = function.outputs
    checks: list[Callable[[], Sequence[Any]]] = [partial(_answers_to_nothing, outputs)]
    if len(outputs) > 1:
        checks += [partial(_of_zeros, function, [*outputs[:i], *outputs[i + 1 :]]) for i in range(len(outputs))]
    for check in checks:
        try:
            wrong = next((part for part in check() if part is not None and part.array.any()), None)
            fault = "" if wrong is None else f"{_NOT_ZERO}: {_largest(wrong)!r}"
        except RuntimeError as error:
            fault = f"{_UNDEFINED}: {error}"
        if fault:
            warn(_BREAKING)
            return fault
    return None


def _answers_to_nothing(outputs: Sequence[Tensor]) -> list[Any]:
    """Return what the user's own say to gradients that are not there: hooks, and functions, which are all that is asked."""
    found: list[Any] = []
    with Mode(recording=False):
        for node in reachable([y.gradient_node() for y in outputs]):
            if node.watch is not None:
                found += [hook(None) for hook in list(node.watch.hooks.values())]
            if node.op is not None and "call" in node.static:
                parts = node(*[None] * node.op.outputs)
                found += parts if isinstance(parts, tuple) else (parts,)
    return found
