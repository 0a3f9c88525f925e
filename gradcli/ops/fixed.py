"""Objects whose fields are given once: data classes whose methods are not made anew for each at import, which takes half a millisecond."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(eq_default=False, frozen_default=True)
class Fixed:
    """Fields are what a class annotates, after those of the class that it extends; what has a value there may be left out.

    Compared by identity. Raises TypeError for fields that are missing, unknown or given twice.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _known: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)
        cls._known = frozenset(cls._fields)
        cls._required = frozenset([name for name in cls._fields if not hasattr(cls, name)])

    def __init__(self, *values: Any, **named: Any) -> None:
        given = {**dict(zip(self._fields, values, strict=False)), **named} if values else named
        if not self._required <= given.keys() <= self._known or len(given) != len(values) + len(named):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}, not {values} and {named}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is fixed: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is fixed: {name} cannot be deleted")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"

    def but(self, **changes: Any) -> Self:
        """The same with other values of some fields."""
        given = {name: self.__dict__[name] for name in self._fields if name in self.__dict__}
        return type(self)(**{**given, **changes})
