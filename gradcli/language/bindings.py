"""What statements bind names to: values, objects, several results at once, data; and names that an error leaves without a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, GradcliError, InputError, MissingValueError, Span
from gradcli.graph.nodes import Expr
from gradcli.language.ancestry import Ancestry
from gradcli.language.deviations import deviations
from gradcli.language.lowering import Lowering
from gradcli.language.mentions import expressions_of, mentioned, words_of
from gradcli.language.objects import is_object, is_several, values_in
from gradcli.language.scope import Bound, Scope
from gradcli.language.static_uses import StaticUse
from gradcli.language.tree import Binding, Call, DataBinding, Name, Several, Statement
from gradcli.ops.structure import detach


class Value(NamedTuple):
    """What a name is to be bound to."""

    node: Expr
    mentions: bool  # whether its text mentions a name
    static_uses: dict[StaticUse, None]


class Bindings:
    """The names of one program, as its statements bind them."""

    def __init__(self, scope: Scope, lowering: Lowering) -> None:
        self.scope, self.lowering, self.ancestry = scope, lowering, Ancestry()

    def lose(self, name: str, statement: Statement, error: GradcliError | None = None) -> None:
        """Leave a name without a value, which a statement with an error should have given it."""
        scope = self.scope
        if name in scope.names:
            scope.lost[name] = scope.names.pop(name)
        scope.failed[name] = line = statement.source.position(statement.span.start)[0]
        if error is not None and error.follows is not None:
            scope.causes[line] = error.follows

    def lose_all(self, statement: Statement, error: GradcliError) -> None:
        """Leave the names without a value that a statement with an error binds."""
        if isinstance(statement, (Binding, DataBinding)):
            self.lose(statement.name, statement, error)
        elif isinstance(statement, Several):
            for binding in statement.bindings:
                self.lose(binding.name, binding, error)

    def raw(self, expr: Expr) -> Any:
        """The value of a constant expression, whole numbers as integers."""
        value = np.asarray(self.scope.evaluate(expr))
        if expr.kind == "float" and value.dtype.kind == "f" and self.scope.is_integral(expr) and np.all(np.abs(value) < 2**53):
            return value.astype(np.int64)
        return value

    def bind(self, statement: Binding | DataBinding) -> None:
        """Bind a name. What is bound from outside replaces the program's own, but not what is made of it, as in ``x = x/2``."""
        scope, name = self.scope, statement.name
        made_of_itself = isinstance(statement, Binding) and self._is_made_of_itself(statement)
        if name in scope.outside and not made_of_itself:
            scope.names[name] = scope.leaves[name]
            scope.mentioned |= words_of(statement)
            return
        if isinstance(statement, Binding):
            self._evaluate(statement, made_of_itself)
        else:
            self._load(statement)
        if name in scope.names:
            scope.bindings[scope.names[name]] = statement

    def _is_made_of_itself(self, statement: Binding) -> bool:
        """Whether a binding mentions its own name, or names that depend on the value bound to it."""
        scope, name = self.scope, statement.name
        if name not in scope.names:
            return False
        names = mentioned([statement.expression], scope.functions, scope.names)
        if name in names:
            return True
        leaf = scope.leaves.get(name)
        if leaf is None:
            return False
        values = [scope.names[other] for other in names if other in scope.names]
        if scope.objects:  # d = Normal(x, s), or parts = x.chunk(2), which depend on x as well
            values += [part for other in names if other in scope.objects for part in values_in(scope.objects[other].object)]
        return self.ancestry.depend(values, leaf)

    def bind_several(self, statement: Several) -> None:
        """Bind several names at once, when all that stands on the right has been read."""
        mentioned_here = {name for e in expressions_of(statement) for name in mentioned([e], self.scope.functions, self.scope.names)}
        own = [b for b in statement.bindings if b.name in mentioned_here or self._is_made_of_itself(b)]
        for binding, value in zip(statement.bindings, self._values(statement), strict=True):
            made_of_itself = binding in own and binding.name in self.scope.names
            if binding.name in self.scope.outside and not made_of_itself:
                self.scope.names[binding.name] = self.scope.leaves[binding.name]
                continue
            self._take(binding, value, made_of_itself)
            self.scope.bindings[self.scope.names[binding.name]] = binding

    def _values(self, statement: Several) -> list[Value]:
        lowering = self.lowering
        first = statement.bindings[0]
        if statement.shared:
            from gradcli.language.unpacking import parts_of

            result = lowering.lower(first.expression, first.source)
            mentions, uses = lowering.lookup.mentions, lowering.coercion.static_uses
            try:
                parts = parts_of(lowering.coercion, result, len(statement.bindings))
            except GradcliError as error:
                raise error.at(first.expression.root.span, first.source) from None
            return [Value(part, mentions, uses) for part in parts]
        found = []
        for binding in statement.bindings:
            node = lowering.lower_value(binding.expression, binding.source)
            found.append(Value(node, lowering.lookup.mentions, lowering.coercion.static_uses))
        return found

    def _evaluate(self, statement: Binding, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        deviation = None if statement.deviation is None else self._deviation(statement)
        try:
            result = self.lowering.lower(statement.expression, statement.source)
            if is_object(result) or is_several(result, self.lowering.lookup.mentions):
                scope.bind_object(name, Bound(result, self.lowering.lookup.mentions))
                return
            expr = self.lowering.coerced(result, statement.expression, statement.source)
        except MissingValueError as error:
            if name not in scope.names and name not in scope.failed and (place := _mention(statement)) is not None:
                raise MissingValueError(
                    f"the value of '{name}' mentions '{name}', which has none yet", span=place, source=statement.source,
                    help=f"give it one before: {name} = 1",
                ) from None  # fmt: skip
            raise error
        if deviation is not None and self.lowering.lookup.mentions:
            refusal = ArgumentError(
                f"the value of '{name}' mentions another name: '±' stands behind numbers", help=f"write {name} = 1.0 ± 0.1"
            )
            raise refusal.at(statement.expression.root.span, statement.source)
        self._take(statement, Value(expr, self.lowering.lookup.mentions, self.lowering.coercion.static_uses), made_of_itself)
        if deviation is not None:
            self._deviate(statement, scope.leaves[name], deviation)

    def _deviation(self, statement: Binding | DataBinding) -> Any:
        """What stands behind the sign of a binding."""
        assert statement.deviation is not None
        return self.scope.evaluate(self.lowering.lower_value(statement.deviation, statement.source))

    def _deviate(self, statement: Binding | DataBinding, leaf: Expr, deviation: Any = None) -> None:
        """Give a leaf the standard deviation that stands behind the sign of its binding, if there is one."""
        if statement.deviation is None:
            return
        found, value = self._deviation(statement) if deviation is None else deviation, self.scope.values[leaf]
        try:
            self.scope.deviations[leaf] = deviations(np.abs(value) * found / 100 if statement.percent else found, value, statement.name)
        except GradcliError as error:
            raise error.at(statement.deviation.root.span, statement.source) from None

    def _take(self, statement: Binding, value: Value, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        scope.imported.pop(name, None)
        if not value.mentions:
            scope.bind_value(name, self.raw(value.node), const=statement.const)
            return
        own = scope.named(value.node, name)
        scope.objects.pop(name, None)
        if made_of_itself and name in scope.leaves:
            self.ancestry.note(own, scope.leaves[name])
        if name in scope.names and not made_of_itself:
            scope.leaves.pop(name, None)
            scope.replaced.add(name)
        elif statement.const:
            scope.replaced.add(name)
        scope.names[name] = detach(own) if statement.const else own
        if value.static_uses:
            scope.static_uses[name] = value.static_uses
        else:
            scope.static_uses.pop(name, None)
        scope.failed.pop(name, None)

    def _load(self, statement: DataBinding) -> None:
        if self.scope.load is None:
            error = InputError("data files cannot be named here", help="bind the data from outside")
            raise error.at(statement.span, statement.source)
        try:
            leaf = self.scope.bind_value(statement.name, self.scope.load(statement.reference))
            self._deviate(statement, leaf)
        except GradcliError as error:
            raise error.at(statement.span, statement.source) from None


def _mention(statement: Binding) -> Span | None:
    """Where a binding mentions its own name."""
    callees = {id(node.callee) for node in statement.expression.nodes if isinstance(node, Call)}
    own = (node for node in statement.expression.nodes if isinstance(node, Name) and node.name == statement.name)
    return next((node.span for node in own if id(node) not in callees), None)
