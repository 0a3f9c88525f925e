"""Objects of torch.nn's classes that have no parameters: functions of torch.nn.functional that keep arguments, on tensors.

Which function a class is, and what its constructor takes, stands in ops/nn/modules.py.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from gradcli.ops.calling.meanings import CALL, Class, Refused, class_of, classes, lookup
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.spec import REQUIRED
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import known
from gradcli.tensors.torch.catalogue_functions import OF_NETWORKS, function


class FunctionModule:
    """A function that keeps arguments, with what PyTorch's modules have beside: modes, and parameters, of which there are none."""

    training = True
    _record: Class
    _constructor: inspect.Signature

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        try:
            given = self._constructor.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            times = self._record.repeated.get("pad" if name == "padding" else name)
            setattr(self, name, (value,) * times if times and isinstance(value, int) else value)
        if "Dropout" in type(self).__name__ and not 0 <= vars(self)["p"] <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {vars(self)['p']}")

    def forward(self, *tensors: Any, **named: Any) -> Any:
        wanted = _inputs(self._record)
        try:
            given = wanted.bind(*tensors, **named).arguments
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.forward() {error}") from None
        leading = [given[name] for name, p in wanted.parameters.items() if p.default is p.empty]
        further = dict(list(given.items())[len(leading) :])
        return _function(self._record)(*leading, **self._kept(), **further)

    def _kept(self) -> dict[str, Any]:
        """Return what the function gets of the object, under its names."""
        words = self._constructor.parameters
        kept = {name: value for name, value in self._record.defaults.items() if name not in words}
        for parameter in self._record.constructor.parameters:
            name = next((word for word in parameter.spellings if word in words), None)
            value = None if name is None else getattr(self, name)
            if value is not None and not (parameter.name == "inplace" and value is False):
                kept[parameter.name] = value
        if _has_training(self._record):
            kept["training"] = self.training
        return kept

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        return self.forward(*tensors, **named)

    def __repr__(self) -> str:
        """Return what the object was told beside its defaults."""
        told = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self._constructor.parameters.items()
            if getattr(self, name) is not parameter.default and getattr(self, name) != parameter.default
        ]
        return f"{type(self).__name__}({', '.join(told)})"

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

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """The weights of losses."""
        own = vars(self).items()
        return OrderedDict((name, value.detach()) for name, value in own if isinstance(value, Tensor))


def module(name: str) -> type[FunctionModule]:
    """The class of that name in torch.nn. Raises AttributeError for what gradcli does not have, with the reason."""
    found = class_of(name, TORCH)
    if isinstance(found, Refused):
        raise AttributeError(f"gradcli has no torch.nn.{name}: {found.why}; {found.help}")
    if found is None:
        help = "it has the functions of torch.nn.functional, and the classes that are these and keep arguments"
        raise AttributeError(f"gradcli has no torch.nn.{name}: {help}")
    return _made(name, found)


@cache
def _made(name: str, record: Class) -> type[FunctionModule]:
    fields = {"_record": record, "_constructor": _constructor(record), "__module__": "torch.nn.modules", "__doc__": None}
    return type(name, (FunctionModule,), fields)


def names() -> list[str]:
    """The classes that there are."""
    return sorted(classes(TORCH))


def _constructor(record: Class) -> inspect.Signature:
    """How objects are made: the parameters have PyTorch's names, and the defaults of the function."""
    if record.keeps == "*":  # whatever there is
        return inspect.signature(lambda *args, **kwargs: None)
    name = record.methods[CALL]
    found, drawn = known(name), inspect.signature(OF_NETWORKS[name]).parameters if name in OF_NETWORKS else {}
    defaults: dict[str, Any] = {"size_average": None, "reduce": None, "inplace": False}
    if found is not None:
        function, signature = found
        defaults |= {**function.static, **dict.fromkeys(function.optional), **dict(signature.defaults)}
    defaults |= {**{word: parameter.default for word, parameter in drawn.items()}, **record.defaults}
    made = []
    for parameter, written in zip(record.constructor.parameters, record.keeps.split(","), strict=False):
        word = written.strip().lstrip("-").rpartition("|")[2]
        default = defaults.get(parameter.name, REQUIRED)
        made.append(_parameter(word, inspect.Parameter.empty if default is REQUIRED else default))
    return inspect.Signature(made)


def _parameter(name: str, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


@cache
def _function(record: Class) -> Callable[..., Any]:
    name = record.methods[CALL]
    return OF_NETWORKS[name] if name in OF_NETWORKS else function(name, "torch.nn.functional")


@cache
def _has_training(record: Class) -> bool:
    """Return whether the function is told if there is training."""
    name = record.methods[CALL]
    if name in OF_NETWORKS:
        return "training" in inspect.signature(OF_NETWORKS[name]).parameters
    return "training" in [parameter.name for parameter in getattr(lookup(name, TORCH), "parameters", ())]


@cache
def _inputs(record: Class) -> inspect.Signature:
    """Return what an object is called with: what its function takes, and the constructor does not."""
    name = record.methods[CALL]
    taken = {parameter.name for parameter in record.constructor.parameters}
    wanted = ["input"]
    if (found := known(name)) is not None:
        function, signature = found
        operands = [p for p in signature.parameters if p.name in function.operands and p.name not in (*function.optional, *taken)]
        wanted = ["input" if "input" in p.spellings else p.name for p in operands]
    more = [_parameter("output_size", None)] if name.startswith("max_unpool") else []
    return inspect.Signature([*map(_parameter, wanted), *more])


__all__ = ["FunctionModule", "module", "names"]
