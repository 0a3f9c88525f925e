"""Translation of the tree to the graph.

Names are looked up, functions inlined, derivatives taken and indices made static.

One loop goes over a statement's nodes; a call of a user's function opens a frame for its body on an
explicit stack. A node lowers to a graph node or, where the language has them, to a tuple, a list
(an array not made yet), a string, None, a `Module`, a `Function`, or a `FreeVariable`, which fails
only where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any

from gradcli.errors import (
    AmbiguousError,
    ArgumentError,
    GradcliError,
    LimitError,
    MissingValueError,
    TypeMismatchError,
)
from gradcli.graph.nodes import Expr
from gradcli.language import calls
from gradcli.language.calls import (
    OF_PYTHON,
    OF_SYMPY,
    Derived,
    derivative,
    exists,
    is_function,
    operation,
    refuse_as_factor,
    refuse_bound_function,
    refuse_neighbours,
    unknown_function,
)
from gradcli.language.names import (
    DERIVATIVES,
    FreeVariable,
    Function,
    Module,
    Thing,
    nodes_in,
)
from gradcli.language.reading import Reading, attribute
from gradcli.language.scope import Scope
from gradcli.language.statements import read_again
from gradcli.language.subscripts import subscript
from gradcli.language.syntax import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Expression,
    Frame,
    ImpliedProduct,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Statement,
    Subscript,
    Text,
    Unary,
)
from gradcli.ops import registry
from gradcli.ops.calling.meanings import DIALECT_OF
from gradcli.ops.calling.prefixes import NUMPY, ROOTS, TORCH, DType, owner
from gradcli.ops.calling.textbook import MARKS, NOT_COMPUTED, is_own
from gradcli.ops.constants import NAMED
from gradcli.ops.elementwise import arithmetic, logic
from gradcli.ops.text import Expansion, expand_call
from gradcli.texts import Source, Span


class Lowering(Reading):
    """Lowers the expressions of one program into its graph."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        # The statement being run; None for text outside the program.
        self.statement: Statement | None = None
        # The last expression, as read with the names' current meanings.
        self.read: Expression | None = None
        self.mentions = False  # whether the last expression mentioned a bound name
        # Dialects of the libraries that the last statement named.
        self.touched: set[str] = set()
        self.notes: dict[str, None] = {}  # notes on names in the last statement
        self.notes_of = {}
        self._stack: list[Frame] = []  # expressions being lowered, innermost last
        # Results of calls; keeps the arguments alive, whose identities are in the keys.
        self._results: dict[Any, tuple[Any, Expansion | None, Any]] = {}

    def begin(self, statement: Statement) -> None:
        """Begin a statement, which has shown no evidence yet."""
        self.statement, self.notes = statement, {}
        self.touched.clear()

    @property
    def dialect(self) -> str | None:
        """Dialect by which the last statement was read, if it is not NumPy's.

        It is None unless something in the statement, or an option, asks for it.
        """
        dialect, touched = self.scope.dialect, self.touched
        found = (
            dialect.decided
            or (next(iter(touched)) if len(touched) == 1 else None)
            or dialect.asked
            or dialect.commented
            or dialect.usual
        )
        return None if found == NUMPY else found

    def lower(self, expression: Expression, source: Source) -> Any:
        """Return what an expression stands for, in any of the forms above.

        Raises a GradcliError with the smallest place in the text that it is about:
        UnknownNameError, MissingValueError and AmbiguousError for names, ArgumentError, ShapeError
        and TypeMismatchError for what functions and operators cannot take, LimitError.
        """
        self.mentions, self.static_uses, self.held, self._results = False, {}, {}, {}
        expression = self.read = as_read(expression, self.scope)
        self._stack = [Frame(expression, source, self.statement, {})]
        try:
            while True:
                frame = self._stack[-1]
                inner = self._advance(frame)
                if inner is not None:
                    inner.expression = as_read(inner.expression, self.scope, inner.locals)
                    self._stack.append(inner)
                    continue
                result = frame.results[frame.expression.root.place]
                if len(self._stack) == 1:
                    return result
                self._stack.pop()
                self.scope.lowered.append(frame)
                self._return(frame, result)
        finally:
            self.scope.lowered += reversed(self._stack)

    def _advance(self, frame: Frame) -> Frame | None:
        """Lower nodes until all are done, or one is a call whose body has to be lowered first."""
        nodes, results = frame.expression.nodes, frame.results
        for place in range(len(results), len(nodes)):
            node = nodes[place]
            try:
                made = _RULES[type(node)](self, node, frame)
            except GradcliError as error:
                if type(error) is MissingValueError:
                    self._refuse_integrals(frame)
                raise error.at(node.span, frame.source) from None
            if type(made) is Frame:
                return made
            results.append(frame.keep(node, made))
            if self.held:
                for result in nodes_in(results[-1]):
                    self.graph.held.setdefault(result, {}).update(self.held)
                self.held = {}
        return None

    def _refuse_integrals(self, frame: Frame) -> None:
        """Raise UnknownNameError for calls of what is not computed, where a name has no value."""
        for node in frame.expression.nodes:
            if not isinstance(node, Call):
                continue
            name = frame.text_of(node.callee)
            if name in NOT_COMPUTED and name not in self.scope.functions:
                raise unknown_function(self.scope, name, []).at(node.callee.span, frame.source)

    def _return(self, frame: Frame, result: Any) -> None:
        """Give the result of a function's body to the call that waits for it."""
        caller = self._stack[-1]
        call = caller.expression.nodes[len(caller.results)]
        try:
            caller.results.append(frame.finish(result) if frame.finish else result)
        except GradcliError as error:
            raise error.at(call.span, caller.source) from None

    def lower_value(self, expression: Expression, source: Source) -> Expr:
        """Lower an expression to a node of the graph: numbers as they are, lists as arrays.

        Raises the errors of `lower`, and TypeMismatchError for anything else.
        """
        return self.coerce(self.lower(expression, source), expression, source)

    def coerce(self, result: Any, expression: Expression, source: Source) -> Expr:
        """Return what the last expression was lowered to, as a node of the graph.

        Raises TypeMismatchError where it is no number or array.
        """
        try:
            node = self.value(result)
        except GradcliError as error:
            raise error.at(expression.root.span, source) from None
        self.scope.lowered[-1].coerced = node
        return node

    # -- nodes

    def _binary(self, node: Binary, frame: Frame) -> Expr:
        left, right = frame.results[node.left.place], frame.results[node.right.place]
        if type(left) is not Expr:
            if type(left) is FreeVariable:
                refuse_as_factor(self.scope, left, right, node, frame.source)
            left = self._operand(left, node.left, frame)
        if type(right) is not Expr:
            right = self._operand(right, node.right, frame)
        if left.kind == "bool" or node.operator in CONDITIONS:
            refuse_other_readings(node, left.kind, right.kind, frame.source)
        if len(left.shape) > 1 or len(right.shape) > 1:
            refuse_matrices(node, left, right, frame.source)
        return self.graph.apply(
            registry.OPERATORS[CONDITIONS.get(node.operator, node.operator)], (left, right)
        )

    def _unary(self, node: Unary, frame: Frame) -> Any:
        operand = self._operand(frame.results[node.operand.place], node.operand, frame)
        if node.operator == "+":
            return operand
        if node.operator == "-":
            number = operand.op is None and type(operand.payload) in (int, float)
            return self.constant(-operand.payload) if number else arithmetic.neg(operand)
        if node.operator in MARKS:
            return registry.record_named(MARKS[node.operator])(operand)
        if node.operator == "~" and operand.kind != "bool":
            refuse_complement(node, frame.source)
        return logic.logical_not(operand)

    def _conditional(self, node: Conditional, frame: Frame) -> Any:
        parts = (node.condition, node.value, node.otherwise)
        return logic.where(
            *[self._operand(frame.results[part.place], part, frame) for part in parts]
        )

    def _sequence(self, node: Sequence, frame: Frame) -> Any:
        items = [frame.results[item.place] for item in node.items]
        return tuple(items) if node.bracket == "(" else items

    def _operand(self, result: Any, node: Node, frame: Frame) -> Expr:
        if isinstance(result, Expr):
            return result
        try:
            return self.value(result)
        except GradcliError as error:
            raise error.at(node.span, frame.source) from None

    # -- names

    def _name(self, node: Name, frame: Frame) -> Any:
        """Return the meaning of a name.

        The parameters of a function that is being called have values of their own.
        """
        name, scope = node.name, self.scope
        if name in frame.locals:
            return frame.locals[name]
        bound = scope.names.get(name)
        if bound is not None:
            self.mentions = True
            scope.mentioned.add(name)
            if scope.static_uses and name in scope.static_uses:
                self.static_uses.update(scope.static_uses[name])
            return bound
        if scope.objects and name in scope.objects:
            return self._object(name)
        if name in scope.functions:
            return FreeVariable(name)  # after F(x) = x**2, F is no library
        if name == "None":
            return None
        if (found := scope.imported.get(name)) is not None:
            return self._module(found.path) if isinstance(found, Module) else found
        if name in NAMED and name not in scope.failed:
            if name == "E":
                self.notes[
                    "E is the number e here, as in sympy; a binding gives it another value"
                ] = None
            return self.constant(NAMED[name])
        if name in ROOTS:
            return self._module(ROOTS[name])
        return FreeVariable(name)

    def _module(self, path: str) -> Module:
        """Return a module that the statement names, which is evidence of its dialect."""
        dialect = DIALECT_OF.get(owner(path))
        if dialect is not None:
            self.touched.add(dialect)
        return Module(path)

    def _object(self, name: str) -> Any:
        """Return an object bound to a name that is no value.

        It is an object of a library's class, or a function.
        """
        bound = self.scope.objects[name]
        self.mentions = self.mentions or bound.mentions
        self.scope.mentioned.add(name)
        return bound.object

    # -- calls: of the program's functions, a library's, an object's or the language's own

    def _call(self, node: Call, frame: Frame) -> Any:
        """Return the result of a call, or the `Frame` of a user's function to be lowered for it.

        Raises as `calls.call` does.
        """
        results, callee = frame.results, node.callee
        arguments = [results[argument.place] for argument in node.arguments]
        keywords = {name: results[value.place] for name, value in node.keywords}
        if isinstance(callee, Name):
            return self._call_by_name(node, callee.name, frame, arguments, keywords)
        return self._call_of(results[callee.place], node, frame, arguments, keywords)

    def _call_of(
        self, target: Any, node: Call, frame: Frame, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        callee = node.callee
        if isinstance(target, Derived):
            return self._inline(node, frame, target, arguments, keywords)
        if isinstance(target, Thing):
            return self.convert(
                target.call(self, arguments, keywords), node, frame, target.written, target.parts
            )
        if isinstance(target, Module) and (of := calls.class_at(target.path)) is not None:
            return calls.construct(self, of, arguments, keywords)
        if isinstance(target, Function):
            return self._call_function(node, target, frame, arguments, keywords)
        if isinstance(callee, Attribute) and callee.name == "size":
            from gradcli.language.array_methods import METHODS

            return (
                METHODS["size"].of(frame.results[callee.base.place]).call(self, arguments, keywords)
            )
        if isinstance(target, DType):
            return calls.conversion(self, target, arguments, keywords)
        raise TypeMismatchError("only a function can be called", help="write x*(y) to multiply").at(
            callee.span
        )

    def _call_function(
        self,
        node: Call,
        target: Function,
        frame: Frame,
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a library's function, or a method."""
        name, base, given = target.name, target.base, arguments
        if base is not None:
            if not isinstance(base, calls.Instance):
                library = (
                    TORCH
                    if calls.is_pair(node, frame.nodes)
                    else self.method(node, frame, name, base, arguments)
                )
                target = Function(name, library, base)
            made, given = calls.call_method(self, target, arguments, keywords), [base]
        elif name in DERIVATIVES and not exists(name, target.library):
            return derivative(self, node, name, arguments, keywords)
        else:
            made = calls.call(self, name, target.library, arguments, keywords)
        return self.settle(made, node, frame, target, given)

    def _call_by_name(
        self, node: Call, name: str, frame: Frame, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        scope = self.scope
        bound = name in scope.names or name in frame.locals
        definition = scope.functions.get(name)
        if definition is not None:
            derived = Derived(definition, (("'", 0),) * node.primes)
            return self._inline(node, frame, derived, arguments, keywords)
        if scope.objects and name in scope.objects:
            return self._call_of(self._object(name), node, frame, arguments, keywords)
        if name in scope.imported and not bound:
            return self._call_of(scope.imported[name], node, frame, arguments, keywords)
        single = (
            len(arguments) == 1 and type(arguments[0]) is Expr and not (keywords or node.primes)
        )
        if single and (op := operation(name)) is not None:  # most calls; takes a third of the time
            if bound:
                refuse_bound_function(scope, node, frame)
            return self.graph.apply(op, arguments)
        written = [frame.text_of(argument) for argument in node.arguments]
        if node.primes:
            raise unknown_function(scope, name, written, node.primes).at(node.callee.span)
        if name in DERIVATIVES:
            return derivative(self, node, name, arguments, keywords)
        if name in OF_PYTHON or name in OF_SYMPY:
            from gradcli.language.library_names import FUNCTIONS

            return self.convert(
                FUNCTIONS[name].call(self, arguments, keywords), node, frame, name, arguments
            )
        if exists(name, NUMPY) or exists(name, TORCH):
            if single and bound and not arguments[0].shape:
                refuse_bound_function(scope, node, frame)
            refuse_neighbours(name, written, arguments)
            library = self.bare(node, frame, name, arguments)
            return calls.call(self, name, library, arguments, keywords, bare=True)
        if (of := calls.bare(name)) is not None:
            return calls.construct(self, of, arguments, keywords)
        if name in scope.failed:
            raise calls.missing_value(scope, FreeVariable(name)).at(node.callee.span)
        raise unknown_function(scope, name, written).at(node.callee.span)

    def _inline(
        self,
        node: Call,
        caller: Frame,
        of: Derived,
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> Any:
        """Return the result of a call, or the `Frame` of the function's body.

        A call that was met before with the same arguments has its result already.

        Raises ArgumentError for arguments that the function does not have and for a function that
        calls itself; LimitError.
        """
        definition = of.of
        wanted, count, most = (
            definition.parameters,
            len(arguments) + len(keywords),
            self.scope.limits.calls,
        )
        if keywords or count != len(wanted):
            raise ArgumentError(
                f"{definition.name}({', '.join(wanted)}) takes {len(wanted)} arguments by "
                f"position, not {count}"
            )
        if len(self._results) >= most:
            raise LimitError(
                f"more than {most:,} calls of functions in one statement",
                help=f"raise it with --limit calls={10 * most}",
            )
        if any(frame.statement is definition for frame in self._stack):
            raise ArgumentError(f"the function '{definition.name}' calls itself")
        values: list[Any] = [a if isinstance(a, (tuple, str)) else self.value(a) for a in arguments]
        key = (id(definition), of.steps, *(id(v) for v in values))
        if key in self._results:
            result, caller.expansions[node.place], _ = self._results[key]
            return result
        parameters = list(values)
        if of.steps:
            if node.primes and len(values) != 1:
                raise ArgumentError(
                    "a prime needs a function of one variable", help="write grad(f(x, y), x)"
                )
            parameters = [*map(self.scope.name_node, map(self.value, values), wanted)]

        def finish(result: Any) -> Any:
            expansion = None
            if of.steps:
                given = self.value(result), *parameters
                expansion = expand_call("grad", given, lambda: of.result(self, result, parameters))
                result = expansion.result
            caller.expansions[node.place] = expansion
            self._results[key] = result, expansion, (values, definition)
            return result

        bound = dict(zip(wanted, parameters, strict=True))
        return Frame(
            definition.expression, definition.source, definition, bound, finish, (caller, node)
        )


_RULES: dict[type[Node], Callable[[Lowering, Any, Frame], Any]] = {
    Number: lambda low, node, frame: low.constant(node.value),
    Name: Lowering._name,
    Binary: Lowering._binary,
    ImpliedProduct: Lowering._binary,
    Unary: Lowering._unary,
    Conditional: Lowering._conditional,
    Call: Lowering._call,
    Subscript: lambda low, node, frame: subscript(low, node, frame.results),
    Attribute: lambda low, node, frame: attribute(low, frame.results[node.base.place], node.name),
    Sequence: Lowering._sequence,
    Text: lambda low, node, frame: node.value,
    Dots: lambda low, node, frame: ...,
    Slice: lambda low, node, frame: None,  # the subscript reads it
}


# -- Expressions whose meaning depends on what names stand for: they are read again when that is
# known.
#
# ``x(x + 1)`` is a call, and a product where x is a value; ``d/dx(x^2)`` is a derivative, and a
# quotient where d or dx has a meaning.


def as_read(expression: Expression, scope: Scope, own: Container[str] = ()) -> Expression:
    """Return the expression as it is read with the names' present meanings.

    ``own`` are the names of a function's parameters.

    Raises AmbiguousError if it then has two readings.
    """
    if expression.source is None:
        return expression
    values = [name for name in expression.called if _is_value(name, scope, own)]
    for name in expression.differentials:
        if name in own or name in scope.names or name in scope.functions:
            values.append(name)
    for name in expression.called:
        if (
            is_own(name)
            and name not in own
            and (name in scope.functions or name in scope.objects or name in scope.imported)
        ):
            values.append(f"{name}()")  # marks a name called as the program's own function
    if not values:
        return expression
    return read_again(expression, frozenset(values))


def _is_value(name: str, scope: Scope, own: Container[str]) -> bool:
    if name in own:
        return not is_function(name)
    if (
        name in scope.functions
        or name in scope.objects
        or isinstance(scope.imported.get(name), (Function, Module))
    ):
        return False
    return (name in scope.names or name in NAMED) and not is_function(name)


# -- Operators that Python reads in another way: ``^`` of booleans, and ``or``, ``and``, ``|``,
# ``&`` and ``~`` of numbers.


_LONGEST = 60
_FACTOR = re.compile(r"\|\s*((?:\w+\s*)?\([^()|\n]*\)|\w+)")
# Operators of booleans, and their operations.
CONDITIONS = {"or": "or", "and": "and", "|": "or", "&": "and"}


def refuse_other_readings(node: Binary, left: str, right: str, source: Source) -> None:
    """Refuse operators on operands that give them another reading.

    ``or``, ``and``, ``|`` and ``&`` are refused unless both operands are boolean, ``^`` if its base
    is boolean. ``left`` and ``right`` are the kinds of the operands.
    """
    sign = "^" if node.operator == "**" else node.operator
    a, b = (_text(source, part.start, part.end) for part in (node.left, node.right))
    first, second = _condition(a, left), _condition(b, right)
    error: type[GradcliError] = AmbiguousError
    if sign in CONDITIONS:
        if left == right == "bool":
            return
        error, message, help = TypeMismatchError, f"'{sign}' is of conditions, not of numbers", ""
        if sign in ("|", "&"):
            help = _mask_repair(node, (a, left), (b, right), source)
        else:
            message = f"'{sign}' is of conditions; of numbers, Python gives one of them"
            chosen = f"where({first}, {a}, {b})" if sign == "or" else f"where({first}, {b}, {a})"
            help = f"write {first} {sign} {second} for a condition, {chosen} for one of them"
    elif sign in ("+", "-") and right == "bool":
        truth = f"{a} or {b}" if sign == "+" else f"{a} != {b}"
        message = f"'{sign}' of booleans has two readings: of the numbers 0 and 1, and of truths"
        help = f"write {a}*1 {sign} {b}*1 for numbers, {truth} for a condition"
    elif (
        sign == "^" and sign in source.text[node.left.end : node.right.start]
    ):  # '**' is a power everywhere
        other = f"{a} != {b}" if right == "bool" else f"{first} != ({b} != 0)"
        message = "'^' of booleans has two readings: exclusive or, and power"
        help = f"write {other} for exclusive or, {a}**{b} for the power"
    else:
        return
    start = source.text.find(sign, node.left.end, node.right.start)
    span = node.span if start < 0 else Span(start, start + len(sign))
    raise error(message, span=span, source=source, help=help)


def refuse_matrices(node: Binary, left: Expr, right: Expr, source: Source) -> None:
    """Refuse ``A b`` and ``A^-1`` of matrices, which ``A*b`` and ``A**-1`` take entry by entry."""
    a, b = (_text(source, part.start, part.end) for part in (node.left, node.right))
    if isinstance(node, ImpliedProduct):
        if not (left.shape and right.shape):
            return
        message = f"'{a} {b}' of matrices has two readings: entry by entry, and the matrix product"
        help = f"write {a}*{b} or {a} @ {b}"
    elif (
        node.operator == "**"
        and not right.shape
        and right.payload == -1
        and "**" not in source.text[node.left.end : node.right.start]
    ):
        message = "the power -1 of a matrix has two readings: of its entries, and the inverse"
        help = f"write 1/{a} or inv{a if a[0] == '(' else f'({a})'}"
    else:
        return
    raise AmbiguousError(message, span=node.span, source=source, help=help)


def _mask_repair(
    node: Binary, left: tuple[str, str], right: tuple[str, str], source: Source
) -> str:
    """Return the text to write for a mask of numbers.

    It consists of conditions or, if a second bar follows, of a product with an absolute value.
    """
    third = _FACTOR.match(source.text[node.right.end :].lstrip()) if node.operator == "|" else None
    if third is not None:
        return f"write {left[0]}*abs({right[0]})*{third[1]}"
    parts = (
        text if text.startswith("(") and kind == "bool" else f"({_condition(text, kind)})"
        for text, kind in (left, right)
    )
    return f"write {f' {node.operator} '.join(parts)}"


def refuse_complement(node: Unary, source: Source) -> None:
    """Raise for ``~`` of a number."""
    text = _text(source, node.operand.start, node.operand.end)
    sign = Span(node.start, node.start + 1)
    raise TypeMismatchError(
        "'~' is of conditions, not of numbers",
        span=sign,
        source=source,
        help=f"write ~({text} != 0) or -({text})",
    )


def _text(source: Source, start: int, end: int) -> str:
    text = "\n" if source.latex else source.text[start:end]  # LaTeX has no such text
    return text if len(text) <= _LONGEST and "\n" not in text else "x"


def _condition(text: str, kind: str) -> str:
    return text if kind == "bool" else f"{text} != 0"
