"""The derivation of a field: derivatives of elements by a variable, from those of the generators and the rule for quotients."""

from __future__ import annotations

from gradcli.reference.fields.element import Element, Field, Polynomial


class Derivation:
    """The derivative by one generator, a variable."""

    def __init__(self, field: Field, place: int) -> None:
        self.field = field
        self._slopes: dict[int, Element] = {place: Element.number(field, 1)}

    def __call__(self, x: Element) -> Element:
        """The derivative of an element; those of generators first, each made of earlier ones."""
        needed = [i for i in self._behind(x) if i not in self._slopes]
        for i in sorted(needed):
            own = Element(self.field, self.field.symbols[i])
            self._slopes[i] = self.field.generators[i].derivative(own, self._known)
        return self._known(x)

    def _behind(self, x: Element) -> set[int]:
        """The generators that an element is made of, and those that these are made of."""
        seen: set[int] = set()
        stack = list(x.used())
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            for part in self.field.generators[i].parts:
                stack.extend(part.used())
        return seen

    def _known(self, x: Element) -> Element:
        total = self._of(x.p) * Element(self.field, self.field.one, x.below)
        for key, exponent in x.below.items():
            factor = self.field.factors[key]
            inner = self._of(factor)
            if not inner.is_zero:
                total = total - x * exponent * inner * Element(self.field, self.field.one, {key: 1})
        return total

    def _of(self, p: Polynomial) -> Element:
        total = Element.number(self.field, 0)
        for i in self.field.used(p):
            slope = self._slopes.get(i)
            if slope is None:
                own = Element(self.field, self.field.symbols[i])
                slope = self._slopes[i] = self.field.generators[i].derivative(own, self._known)
            if not slope.is_zero:
                total = total + Element(self.field, self.field.lowered(p.derivative(i))) * slope
        return total
