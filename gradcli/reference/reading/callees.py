"""What is called in a text: a function of a library, under a prefix or without one, a method, an object, a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.language.frames import Frame
from gradcli.language.tree import Attribute, Call
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.reading.calls import Calls
from gradcli.reference.reading.dialects import Dialects
from gradcli.reference.reading.libraries import DIVERGENCE, MATH, NUMPY, TORCH, Function, Module, is_drawn
from gradcli.reference.reading.methods import Method, called
from gradcli.reference.reading.names import Line, line_of
from gradcli.reference.reading.objects import Bound, Instance, bare_class, class_at, constructed, divergence, itself_called, method_called
from gradcli.reference.scalars import plain

Derive = Callable[[str, Any, Any, Any], Any]  # kind, y, x and a vector: the tape's own derivative
_DERIVATIVES = {"grad": "vjp", "vjp": "vjp", "jvp": "jvp", "jacobian": "jacobian", "hessian": "hessian", "hvp": "hvp"}
_FOLDED = {"max": "maximum", "min": "minimum", "Max": "maximum", "Min": "minimum"}


class Unknown(NamedTuple):
    """A name that stands for no value: a function without a prefix, perhaps."""

    name: str


class Callees:
    """Calls of what is no function of the program. All raise Unsupported for what the judge does not read."""

    def __init__(self, calls: Calls, dialects: Dialects, derive: Derive) -> None:
        self.calls, self.dialects, self.derive = calls, dialects, derive

    def called(self, target: Any, node: Call, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """What a call gives, of what stands before its brackets."""
        if isinstance(target, Unknown):
            return self._of_name(target.name, frame, arguments, keywords)
        if isinstance(target, Method):
            return self._of_method(target, node, frame, arguments, keywords)
        if isinstance(target, Function):
            return self._of_library(target, frame, arguments, keywords)
        return self._of_object(target, arguments, keywords)

    def _of_object(self, target: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(target, Instance):
            return itself_called(self.calls, target, arguments, keywords)
        if isinstance(target, Bound):
            return method_called(self.calls, target, arguments, keywords)
        if isinstance(target, Module) and (of := class_at(target)) is not None:
            return constructed(self.calls, *of, arguments, keywords)
        raise Unsupported("a call of what is no function")

    def _of_name(self, name: str, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if name in _DERIVATIVES:
            return self._derivative(name, arguments, keywords)
        if name in _FOLDED and (len(arguments) > 1 or name in ("Max", "Min")):
            if keywords:
                raise Unsupported(f"{name} of several values with more")
            result = self.calls.arrays.of(arguments[0])
            for other in arguments[1:]:
                result = self.calls.operation(_FOLDED[name], result, self.calls.arrays.of(other))
            return result
        if name == "Abs":
            return self.calls.operation("abs", *arguments)
        if name in ("float", "int", "bool", "where") and len(arguments) == 1:
            raise Unsupported(f"{name} of one value")
        if name == DIVERGENCE:
            return divergence(self.calls, arguments)
        if line_of(name, NUMPY) is None and line_of(name, TORCH) is None and (of := bare_class(name)) is not None:
            return constructed(self.calls, *of, arguments, keywords)
        return self._of_line(self.dialects.bare(name, frame, arguments, keywords), arguments, keywords)

    def _of_method(self, method: Method, node: Call, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        made = called(self.calls, method, arguments, keywords)
        if made is not NotImplemented:
            return made
        if _is_pair(node, frame):
            line = line_of(f"Tensor.{method.name}", TORCH) or line_of(method.name, TORCH)
            if line is None:
                raise Unsupported(f"the method {method.name!r}")
            return self._of_line(line, [method.base, *arguments], keywords)
        line, _ = self.dialects.method(method.name, frame, method.base, arguments, keywords)
        return self._of_line(line, [method.base, *arguments], keywords)

    def _of_library(self, function: Function, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        line = line_of(function.name, function.library)
        if function.name == DIVERGENCE:
            return divergence(self.calls, arguments)
        if line is None:
            raise Unsupported(f"{function.library}.{function.name}")
        if function.name == "where" and len(arguments) == 1:
            raise Unsupported("where of one value")
        made = self._of_line(line, arguments, keywords)
        of_list = function.name in ("as_tensor", "asarray") and isinstance(arguments[:1][0] if arguments else None, (list, tuple))
        stops = function.library == TORCH and (function.name == "tensor" or of_list)
        if function.library == MATH:
            stops = self.dialects.only(frame) == TORCH
        return Algebra.map(plain, made) if stops else made

    def _of_line(self, line: Line, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if is_drawn(line.function):
            raise Unsupported("random numbers, which only the program knows")
        return self.calls.call(line, arguments, keywords)

    def _derivative(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        vector = keywords.get("seed" if name in ("grad", "vjp") else "v")
        if len(arguments) == 3:
            vector = arguments.pop()
        if len(arguments) != 2:
            raise Unsupported(f"{name} of so many arguments")
        y, x = (self.calls.arrays.of(a) for a in arguments)
        return self.derive(_DERIVATIVES[name], y, x, None if vector is None else self.calls.arrays.of(vector))


def _is_pair(node: Call, frame: Frame) -> bool:
    """Whether ``.values`` or ``.indices`` follows a call, which PyTorch's results have."""
    nodes = frame.expression.nodes
    after = nodes[node.place + 1] if node.place + 1 < len(nodes) else None
    return isinstance(after, Attribute) and after.base is node and after.name in ("values", "indices")
