"""Objects of torch.nn's classes that have no parameters: functions of torch.nn.functional that keep arguments, on tensors.

``modules.txt`` has PyTorch's constructors, and what objects say of themselves; which function a class is stands in ops/nn/modules.py.
"""

from __future__ import annotations

import ast
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gradcli.ops.calling.classes import CALL, Class, Refused, class_of
from gradcli.ops.calling.dialects import lookup
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import known
from gradcli.tensors.torch.catalogue_functions import OF_NETWORKS, function

_RANDOM = {"AlphaDropout": "alpha_dropout", "FeatureAlphaDropout": "feature_alpha_dropout"}  # of which an expression has none
_ANYTHING = inspect.Signature([
    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL), inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
])  # fmt: skip


class FunctionModule:
    """A function that keeps arguments, with what PyTorch's modules have beside: modes, and parameters, of which there are none."""

    training = True
    _record: Class
    _constructor: inspect.Signature
    _shown: str

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        try:
            given = self._constructor.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            times = self._record.repeated.get("pad" if name == "padding" else name)
            setattr(self, name, (value,) * times if times and isinstance(value, int) else value)
        self._settle()

    def _settle(self) -> None:
        """What PyTorch's constructors make of their arguments, or refuse."""
        kept = vars(self)
        if "p" in kept and "Dropout" in type(self).__name__ and not 0 <= kept["p"] <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {kept['p']}")
        if kept.get("stride", 0) is None and not type(self).__name__.startswith("LP"):
            self.stride = kept["kernel_size"]
        if type(self).__name__.startswith(("MaxUnpool", "AvgPool1d")):  # whose extents are tuples
            for name in ("kernel_size", "stride", "padding"):
                value = getattr(self, name)
                setattr(self, name, (value,) * int(type(self).__name__[-2]) if isinstance(value, int) else value)
        if kept.get("min_value") is not None or kept.get("max_value") is not None:
            raise TypeError(f"{type(self).__name__}: min_value and max_value are called min_val and max_val now")
        if isinstance(kept.get("scale_factor"), int):
            self.scale_factor = float(kept["scale_factor"])

    def forward(self, *tensors: Any, **named: Any) -> Any:
        wanted, optional = _inputs(self._record)
        try:
            given = inspect.Signature([
                *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in wanted),
                *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in optional),
            ]).bind(*tensors, **named)  # fmt: skip
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.forward() {error}") from None
        arguments = dict(given.arguments)
        first = [arguments.pop(name) for name in wanted]
        return _function(self._record)(*first, **self._kept(), **arguments)

    def _kept(self) -> dict[str, Any]:
        """What the function gets of the object, under its names."""
        kept = {name: value for name, value in self._record.defaults.items() if name not in self._constructor.parameters}
        for parameter in self._record.constructor.parameters:
            name = next((word for word in parameter.spellings if word in self._constructor.parameters), None)
            value = None if name is None else getattr(self, name)
            if value is not None and not (parameter.name == "inplace" and value is False):
                kept[parameter.name] = value
        if _has_training(self._record):
            kept["training"] = self.training
        return kept

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        return self.forward(*tensors, **named)

    def extra_repr(self) -> str:
        shown = self._shown
        if "{inplace}" in shown:
            before = shown.replace("{inplace}", "").format(**vars(self))
            return ", ".join(part for part in (before, "inplace=True" if getattr(self, "inplace", False) else "") if part)
        if "{scale_factor" in shown and getattr(self, "scale_factor", None) is None:
            shown = shown.replace("scale_factor={scale_factor!r}", "size={size!r}")
        return shown.format(**vars(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"

    # -- what all modules have -----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> FunctionModule:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        return self

    def eval(self) -> FunctionModule:
        return self.train(False)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        return iter(())

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        return iter(())

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The weights of losses."""
        head = f"{prefix}." if prefix else ""
        return ((f"{head}{name}", value) for name, value in vars(self).items() if isinstance(value, Tensor))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_buffers())

    def state_dict(self) -> OrderedDict[str, Tensor]:
        return OrderedDict((name, value.detach()) for name, value in self.named_buffers())

    def children(self) -> Iterator[FunctionModule]:
        return iter(())

    def modules(self) -> Iterator[FunctionModule]:
        return iter((self,))

    def apply(self, fn: Callable[[FunctionModule], Any]) -> FunctionModule:
        fn(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> FunctionModule:
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Nothing, as there are no parameters."""


def module(name: str) -> type[FunctionModule]:
    """The class of that name in torch.nn. Raises AttributeError for what gradcli does not have, with the reason."""
    found = class_of(name, TORCH)
    if name in _RANDOM:
        found = Class(name, "p, -inplace", {CALL: _RANDOM[name]})
    if isinstance(found, Refused):
        raise AttributeError(f"gradcli has no torch.nn.{name}: {found.why}; {found.help}")
    if found is None or name not in _lines():
        help = "it has the functions of torch.nn.functional, and the classes that are these and keep arguments"
        raise AttributeError(f"gradcli has no torch.nn.{name}: {help}")
    return _made(name, found)


@cache
def _made(name: str, record: Class) -> type[FunctionModule]:
    constructor, shown = _lines()[name]
    fields = {"_record": record, "_constructor": constructor, "_shown": shown, "__module__": "torch.nn.modules", "__doc__": None}
    return type(name, (FunctionModule,), fields)


def names() -> list[str]:
    """The classes that there are."""
    return sorted(name for name in _lines() if name in _RANDOM or isinstance(class_of(name, TORCH), Class))


@cache
def _lines() -> Mapping[str, tuple[inspect.Signature, str]]:
    """The constructor of each class, and what stands between the brackets of an object's text."""
    found = {}
    for line in (Path(__file__).parent / "modules.txt").read_text("utf-8").strip().split("\n"):
        head, _, shown = line.partition(" ->")
        name, _, inside = head.partition("(")
        found[name] = (_signature(inside[:-1]), shown.strip())
    return found


def _signature(text: str) -> inspect.Signature:
    if text.startswith("*"):
        return _ANYTHING
    parameters = []
    for part in filter(None, text.split(", ")):
        name, equals, default = part.partition("=")
        value = ast.literal_eval(default) if equals else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
    return inspect.Signature(parameters)


@cache
def _function(record: Class) -> Callable[..., Any]:
    name = record.methods[CALL]
    return OF_NETWORKS[name] if name in OF_NETWORKS else function(name, "torch.nn.functional")


@cache
def _has_training(record: Class) -> bool:
    """Whether the function is told if there is training."""
    name = record.methods[CALL]
    if name in OF_NETWORKS:
        return "training" in inspect.signature(OF_NETWORKS[name]).parameters
    return "training" in [parameter.name for parameter in getattr(lookup(name, TORCH), "parameters", ())]


@cache
def _inputs(record: Class) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an object is called with, and may be called with: what its function takes, and the constructor does not."""
    name = record.methods[CALL]
    found = known(name)
    if found is None:
        return ("input",), ()
    taken = {parameter.name for parameter in record.constructor.parameters}
    operands = [p for p in found[1].parameters if p.name in found[0].operands and p.name not in (*found[0].optional, *taken)]
    wanted = tuple(["input" if "input" in p.spellings else p.name for p in operands])
    return wanted, ("output_size",) if name.startswith("max_unpool") else ()


__all__ = ["FunctionModule", "module", "names"]
