"""Calls, read once more: arguments find their parameters by the judge's own table, and the record's reference is what is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.facts import Kink
from gradcli.ops.references import reference_of
from gradcli.ops.registry import composites, registry
from gradcli.ops.spec import Composite, Op
from gradcli.ops.structure import detach
from gradcli.reference.algebra import Algebra, FailedError, Unsupported
from gradcli.reference.reading.arrays import Arrays, as_object
from gradcli.reference.reading.makers import MAKERS
from gradcli.reference.reading.names import Line, Parameter
from gradcli.reference.scalars import Event, plain

_FAILURES = (ArithmeticError, ValueError, LookupError, AttributeError, TypeError)


class Several(tuple[Any, ...]):
    """Several results of a function, which have names."""

    names: tuple[str, ...] = ()


class Calls:
    """The functions of the catalogue, on arrays of scalars."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays, self.scalars = arrays, arrays.scalars
        self.composites = False  # whether references of functions made of operations were asked

    def operation(self, name: str, *operands: Any, **static: Any) -> Any:
        """An operation by the name of its record."""
        return self._apply(registry()[name], [self.arrays.of(o) for o in operands], static)

    def call(self, line: Line, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """A function of a library applied to what its arguments stand for."""
        return self.applied(line, self.bound(line, arguments, keywords))

    def applied(self, line: Line, given: dict[str, Any]) -> Any:
        """The same of arguments that have found their parameters."""
        self._settle(line, given)
        maker = MAKERS.get(line.function)
        if maker is not None:
            return maker(self, **{**line.defaults, **given})
        record = self._record(line.function, given)
        operands = self._operands(record, given)
        return self._apply(record, operands, self._static(record, line, given))

    # -- arguments ------------------------------------------------------------------------------------------------------------

    def bound(self, line: Line, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by the names of the record's parameters. Raises `Unsupported` for others than these."""
        given: dict[str, Any] = {}
        left = list(arguments)
        for parameter in line.parameters:
            if not left:
                break
            if parameter.many and (parameter.each or not isinstance(left[0], (list, tuple))):
                value: Any = tuple(left)
                left = []
            else:
                value = left.pop(0)
            if not parameter.ignored:
                given[parameter.name] = value
        if left:
            raise Unsupported(f"{line.name} of so many arguments")
        for keyword, value in keywords.items():
            parameter = _spelled(line, keyword)
            if parameter.name in given:
                raise Unsupported(f"an argument of {line.name} that is given twice")
            if not parameter.ignored:
                given[parameter.name] = value
        return given

    def _settle(self, line: Line, given: dict[str, Any]) -> None:
        """Axes of None, and arguments that are other parameters than those in whose place they stand."""
        for parameter in line.parameters:
            name = parameter.name
            if name not in given:
                continue
            if parameter.flattens and given[name] is None:
                given["x"] = self.arrays.of(given["x"]).reshape(-1)
                del given[name]
            elif parameter.otherwise and not self._fits(line, parameter, given[name]):
                other = given.pop(parameter.otherwise, None)
                given[parameter.otherwise] = given.pop(name)
                if other is not None:
                    given[name] = other

    def _fits(self, line: Line, parameter: Parameter, value: Any) -> bool:
        record = _found(line.function)
        return self.arrays.is_whole(value) if parameter.name in record.operands else self.arrays.is_axis(value)

    def _record(self, name: str, given: Mapping[str, Any]) -> Op | Composite:
        """The operation, or what it is more widely where these arguments are more than it takes."""
        record = _found(name)
        wider = record.wider if isinstance(record, Op) else None
        if wider is None:
            return record
        for key, value in given.items():
            more = (key in wider.optional and key not in record.operands) or (key in wider.static and key not in record.static)
            if (more and value is not None) or (key in wider.scalars and self.arrays.varies(value)):
                return wider
        return record

    def _operands(self, record: Op | Composite, given: dict[str, Any]) -> list[Any]:
        if record.variadic:
            return self._listed(given.pop(record.operands[0], None))
        operands: list[Any] = []
        for name in record.operands:
            value = given.pop(name, None)
            if value is None:
                if name not in record.optional:
                    raise Unsupported(f"{record.name} without {name}")
                operands.append(None)
            elif isinstance(record, Composite) and name in record.lists:
                operands.append(self._listed(value))
            elif name in record.indices:
                operands.append(self.arrays.whole(value))
            else:
                operands.append(self.arrays.of(_listed(value)))
        if isinstance(record, Composite) and record.rest:
            more = given.pop(record.rest, None)
            operands += [self.arrays.of(_listed(v)) for v in (more if isinstance(more, (list, tuple)) else () if more is None else (more,))]
        return operands

    def _listed(self, items: Any) -> list[Any]:
        """The arrays of a list, or the rows of an array."""
        if items is None:
            return []
        return [
            self.arrays.of(_listed(item)) for item in (items if isinstance(items, (list, tuple)) else map(as_object, self.arrays.of(items)))
        ]

    def _static(self, record: Op | Composite, line: Line, given: dict[str, Any]) -> dict[str, Any]:
        scalars = record.scalars if isinstance(record, Composite) else frozenset()
        static = {key: _tuples(value) for key, value in line.defaults.items() if key in record.static}
        for key, value in given.items():
            if key not in record.static:
                raise Unsupported(f"{record.name} with {key}")
            if key in scalars and self.arrays.varies(value):
                array = self.arrays.of(_listed(value))
                static[key] = array if array.ndim else array.item()
            else:
                static[key] = _said(line, key, self._parameter(record, key, line.defaults.get(key), value))
        missing = [key for key in record.static if key not in static]
        if missing:
            raise Unsupported(f"{record.name} without {missing[0]}")
        return static

    def _parameter(self, record: Op | Composite, key: str, default: Any, value: Any) -> Any:
        if key == "mask":
            mask = self.arrays.of(_listed(value))
            mask = np.array([bool(plain(v) != 0) for v in mask.flat], dtype=bool).reshape(mask.shape)
            return StaticArray(mask) if isinstance(record, Op) else mask
        found = self.arrays.static(value)
        if isinstance(default, bool) and isinstance(found, int):
            return bool(found)
        return (found,) if key == "shape" and not isinstance(found, tuple) else found

    # -- application ----------------------------------------------------------------------------------------------------------

    def _apply(self, record: Op | Composite, operands: list[Any], static: dict[str, Any]) -> Any:
        if record is detach:
            return Algebra.map(plain, operands[0])
        if isinstance(record, Op):
            made = self.scalars.apply(record, {**_own(record), **static}, operands)
            if not record.elementwise:
                self._watch(record, operands, made)
            return made
        self.composites = True
        reference = reference_of(record.name)
        if reference is None:
            raise Unsupported(f"{record.name} has no reference")
        try:
            made = reference(self.scalars, *operands, **static)
        except _FAILURES as error:
            raise FailedError(f"{record.name} of these operands: {str(error) or type(error).__name__}") from None
        if not isinstance(made, (tuple, list)):
            return np.asarray(made, dtype=object)
        parts = Several(part if part is None else np.asarray(part, dtype=object) for part in made)
        parts.names = record.results if len(record.results) == len(parts) else ()
        return parts

    def _watch(self, op: Op, operands: list[Any], made: Any) -> None:
        """Note the kinks of norms and deviations, which their result tells; scalar operations note their own."""
        kinks: tuple[Kink, ...] = op.kinks
        for kink in kinks:
            if any(kink.where(plain(v)) for v in np.ravel(made)):
                reached = tuple(v for o in operands if o is not None for v in np.ravel(o))
                self.scalars.events.append(Event(op, kink, reached))


def _own(record: Op) -> dict[str, Any]:
    """The parameters of operations that operators and the evaluator itself apply, all of which they give, but for flags."""
    return {key: value for key, value in record.static.items() if isinstance(value, bool)}


def _found(name: str) -> Op | Composite:
    """A record by its own name: aliases are not asked."""
    found: Op | Composite | None = registry().get(name) or composites().get(name)
    if found is None:
        raise Unsupported(f"{name} is not read by the judge")
    return found


def _spelled(line: Line, keyword: str) -> Parameter:
    taking = [parameter for parameter in line.parameters if keyword in parameter.spellings]
    if not taking:
        raise Unsupported(f"{line.name} with {keyword!r}")
    return next((parameter for parameter in taking if parameter.name == keyword), taking[0])


def _said(line: Line, key: str, value: Any) -> Any:
    """What a library's value of a parameter is here."""
    for theirs, ours in line.values.get(key, ()) if isinstance(value, (bool, int, str)) else ():
        if theirs == value:
            return ours
    return value


def _listed(value: Any) -> Any:
    """Tuples of numbers as lists, which are arrays."""
    return [_listed(part) for part in value] if isinstance(value, (list, tuple)) else value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
