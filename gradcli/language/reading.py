"""Reading of attributes and calls.

It decides by which library's meaning they are read, and what stops gradients in the library that
they were written for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from gradcli.errors import AmbiguousError, ArgumentError, GradcliError, UnknownNameError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language import calls
from gradcli.language.calls import exists, is_function, missing_value, suggest_name
from gradcli.language.dialect import PREFIX, Evidence, TwoDialectsError
from gradcli.language.names import FreeVariable, Function, Indices, Module, Results, Thing, nodes_in
from gradcli.language.python_hints import unknown_module, unknown_name
from gradcli.language.scope import Builder, Scope
from gradcli.language.syntax import (
    Assertion,
    Attribute,
    Binding,
    Call,
    DataBinding,
    Definition,
    Expression,
    Frame,
    Import,
    Imported,
    Name,
    Query,
    Several,
    Statement,
)
from gradcli.ops import structure
from gradcli.ops.arrays import shapes
from gradcli.ops.calling import meanings, textbook
from gradcli.ops.calling.meanings import (
    CONVERSIONS,
    detaches,
    is_method_of_arrays,
    is_part,
    is_refused,
    qualified_name,
)
from gradcli.ops.calling.prefixes import (
    JAX,
    MATH,
    MODULES,
    NUMPY,
    ROOTS,
    SAME,
    TORCH,
    has,
    library_of,
    named_constant,
    owner,
)
from gradcli.texts import Source

# -- The names that stand in expressions, also through the functions that these call --------------


def expressions_of(statement: Statement) -> list[Expression]:
    """Return the expressions that a statement evaluates, and those of a function it defines."""
    if isinstance(statement, Assertion):
        sides = [
            side for relation in statement.relations for side in (relation.left, relation.right)
        ]
        ends = [end for each in statement.ranges for end in (each.begin, each.end)]
        return [*sides, *([] if statement.within is None else [statement.within]), *ends]
    if isinstance(statement, Several):
        parts = statement.bindings[:1] if statement.shared else statement.bindings
        return [binding.expression for binding in parts]
    return [statement.expression] if isinstance(statement, (Query, Binding, Definition)) else []


def names_bound_by(statement: Statement) -> list[str]:
    """Return the names to which a statement binds values."""
    if isinstance(statement, Several):
        return [binding.name for binding in statement.bindings]
    return [statement.name] if isinstance(statement, (Binding, DataBinding)) else []


def words_of(statement: Statement) -> set[str]:
    """Every name in a statement's expressions, whatever it stands for there."""
    own = statement.parameters if isinstance(statement, Definition) else ()
    found: set[str] = set()
    for expression in expressions_of(statement):
        found.update(
            expression.called, (node.name for node in expression.nodes if type(node) is Name)
        )
    return found.difference(own)


def names_among(parsed: Iterable[Statement | GradcliError]) -> tuple[set[str], set[str]]:
    """Return the names that a program binds, and the names that it mentions."""
    bound: set[str] = set()
    words: set[str] = set()
    for statement in parsed:
        if isinstance(statement, GradcliError):
            continue
        words |= words_of(statement)
        bound.update(names_bound_by(statement))
    return bound, words


def mentioned_names(statement: Statement, scope: Scope) -> list[str]:
    """Return the names that a statement's expressions depend on, without functions and libraries.

    The omitted names are those of the catalogue's functions and of libraries. Names that have
    values are factors even before a bracket.
    """
    found: dict[str, None] = {}
    seen: set[str] = set()
    pending = [(expression, frozenset[str]()) for expression in expressions_of(statement)]
    for expression, own in pending:  # grows during the loop
        for name in _direct(expression, scope.functions, scope.names):
            if name in own:
                continue
            function = scope.functions.get(name)
            if function is None:
                found[name] = None
            elif name not in seen:
                seen.add(name)
                pending.append((function.expression, frozenset(function.parameters)))
    return list(found)


def _direct(
    expression: Expression, functions: Mapping[str, Definition], values: Container[str]
) -> list[str]:
    nodes = expression.nodes
    called = {
        id(node.callee)
        for node in nodes
        if isinstance(node, Call) and not _is_meant(node, functions, values)
    }
    bases = {
        id(node.base)
        for node in nodes
        if isinstance(node, Attribute) and isinstance(node.base, Name) and node.base.name in ROOTS
    }
    found = [
        node.name
        for node in nodes
        if isinstance(node, Name) and node.name != "None" and id(node) not in called | bases
    ]
    return found + [
        name
        for name in expression.called
        if textbook.is_own(name) and (name in functions or name in values)
    ]


def _is_meant(call: Call, functions: Mapping[str, Definition], values: Container[str]) -> bool:
    """Return whether what is called is a function or a value of the program."""
    callee = call.callee
    return isinstance(callee, Name) and (
        callee.name in functions or (callee.name in values and not is_function(callee.name))
    )


def evidence_of(frame: Frame, scope: Scope) -> Evidence:
    """Return the evidence of the dialect in the text of a frame.

    That is the text of its statement, or of an expression outside of any statement.
    """
    if frame.shown is None:
        evidence = frame.shown = Evidence(scope.dialect.evidence_read.roots)
        text = frame.source.text if frame.statement is None else frame.statement.text
        evidence.add(Source(text), {*frame.locals, *scope.names})
    result: Evidence = frame.shown
    return result


# -- Attributes: names of a library, parts of a result, properties and methods of arrays


def attribute(builder: Builder, base: Any, name: str) -> Any:
    """``base.name`` of what the base was lowered to.

    Raises UnknownNameError, and MissingValueError where the base has no value.
    """
    if isinstance(base, FreeVariable):
        of = calls.bare(base.name)
        if of is not None and name in of.methods:
            return Function(f"{of.name}.{name}", of.library)
        error = missing_value(builder.scope, base)
        if base.name in builder.scope.failed or len(base.name) == 1:
            raise error
        said = f"'{base.name}' is no library here"
        if calls.is_function(name):  # Math.sin, tf.exp
            error.help = f"leave '{base.name}.' out: {said}"
        elif not calls.is_method(name):  # optax.l2_loss
            error.help = f"{said}: write out what its function computes"
        raise error
    if isinstance(base, Module):
        return of_library(builder, base.path, name)
    if isinstance(base, Thing):
        return base.attribute(builder, name)
    if isinstance(base, Results) and name in base.names:
        return base[base.names.index(name)]
    if name in ("T", "mT", "shape", "ndim", "size"):
        return property_of(builder, name, builder.value(base))
    if isinstance(base, Function) and base.base is None:
        from gradcli.language.array_methods import is_ufunc, method_of_ufunc

        if is_ufunc(base):  # np.add.reduce and the like; other functions have no attributes
            return method_of_ufunc(base, name)
        raise UnknownNameError(f"the function '{base.name}' has no attribute '{name}'")
    if name in calls.OF_VALUES:  # imported here because most programs use none of these
        from gradcli.language.array_methods import METHODS, PROPERTIES

        made = PROPERTIES.get(name)
        return METHODS[name].of(base) if made is None else made(builder, builder.value(base))
    if name[-1] == "_" != name[-2:-1] and (calls.is_method(name[:-1]) or not calls.is_method(name)):
        raise UnknownNameError(
            f"'{name}' changes a value in place: a value stays as it is",
            help=(
                f"write x.{name[:-1]}(y) for a new one"
                if calls.is_method(name[:-1])
                else "write y = x + 1 for a new one"
            ),
        )
    if calls.is_method(name):
        return Function(name, NUMPY if calls.exists(name, NUMPY) else TORCH, base)
    raise UnknownNameError(f"an array has no attribute '{name}'", help=calls.suggest_name(name))


def of_library(builder: Builder, base: str, name: str) -> Any:
    """``base.name`` of a module by its canonical path: a module, a function, a constant, a dtype.

    Raises UnknownNameError.
    """
    base = SAME.get(base, base)
    path = f"{base}.{name}"
    if path in MODULES or calls.class_at(path) is not None:
        return Module(path)
    for library in dict.fromkeys((owner(base), library_of(base))):
        function = qualified_name(name, path, library)
        if function != name or (
            library == library_of(base) and has(base, name) and calls.exists(name, library)
        ):
            return Function(function, library)
    # Parts are known by their declared functions; Tensor is a type.
    if is_part(name, library_of(base)) and name != "Tensor":
        return Module(path)
    from gradcli.language import library_names

    found = library_names.of_library(builder, base, name)
    if found is not library_names.MISSING:
        return found
    calls.refuse(name, library_of(base))
    known = library_names.refusal(base, name)
    if known is not None:
        raise known
    try:
        value = named_constant(base, name)
    except UnknownNameError:
        raise unknown_name(base, name, suggest_name(name)) from None
    return builder.constant(value) if isinstance(value, float) else value


def property_of(builder: Builder, name: str, base: Expr) -> Any:
    """Return the property ``T``, ``mT``, ``shape``, ``ndim`` or ``size`` of an array.

    ``x.T`` has the axes reversed, ``x.mT`` has the last two exchanged (ShapeError if there are
    fewer).
    """
    if name == "T":
        return base if base.ndim < 2 else shapes.transpose(base, axes=None)
    if name == "mT":
        return shapes.swapaxes(base, axis1=-1, axis2=-2)
    if name == "shape":
        return Indices(builder.constant(n) for n in base.shape)
    return builder.constant(base.ndim if name == "ndim" else base.size)


# -- Calls: whose function a name is, and what stops gradients -----------------------------------


class Reading(Builder):
    """Reads the calls of a program."""

    notes_of: dict[Expr, str]  # notes on nodes, for all results that depend on them

    def missing_value(self, variable: FreeVariable) -> GradcliError:
        """Return the error of a name used where it needs a value."""
        return missing_value(self.scope, variable)

    def bare(self, node: Call, frame: Frame, name: str, arguments: Sequence[Any]) -> str:
        """Return the library of a function without a prefix.

        Raises AmbiguousError if it means two things.
        """
        if name in meanings.OF_NUMPY_BARE:
            self._refuse_rows(node, name, frame, arguments)
            return NUMPY
        call = _form(node, name, False, arguments)
        # A formula as we print it, a claim, or a value.
        outside = frame.statement is None and not evidence_of(frame, self.scope).prefixes
        found = None if outside else self._dialect(call, node, frame)
        if found in (None, NUMPY):
            self._refuse_all_axes(node, name, frame, arguments)
            if meanings.takes_more(name, MATH, len(arguments)):
                return MATH  # log(x, b)
        if found is None:
            found = (
                NUMPY
                if meanings.meaning(call, NUMPY) is not None or not exists(name, TORCH)
                else TORCH
            )
        return found if exists(name, found) else NUMPY if exists(name, NUMPY) else TORCH

    def method(
        self, node: Call, frame: Frame, name: str, base: Any, arguments: Sequence[Any]
    ) -> str:
        """Return the library of a method.

        Raises AmbiguousError if it means two things.
        """
        self._refuse_all_axes(node, name, frame, [base, *arguments])
        call = _form(node, name, True, [base, *arguments])
        found = self._dialect(call, node, frame)
        if found is not None:
            return found
        if not is_method_of_arrays(name) or "dim" in call.keywords or "keepdim" in call.keywords:
            return TORCH
        if name == "transpose" and len(arguments) == 2 and self.value(base).ndim != 2:
            return TORCH  # NumPy's transpose takes all axes
        if (
            name == "repeat"
            and len(arguments) == 1
            and isinstance(arguments[0], tuple)
            and not node.keywords
        ):
            return TORCH  # sizes; NumPy's takes a count for each entry, written as a list
        return (
            NUMPY
            if meanings.meaning(call, NUMPY) is not None or meanings.meaning(call, TORCH) is None
            else TORCH
        )

    def _dialect(self, call: meanings.Call, node: Call, frame: Frame) -> str | None:
        own = evidence_of(frame, self.scope)
        try:
            return self.scope.dialect.of(call, own, frame.source.position(node.start)[0])
        except TwoDialectsError as error:
            base = [node.callee.base] if isinstance(node.callee, Attribute) else []
            given = [frame.text_of(part) for part in (*base, *node.arguments)]
            given += [f"{keyword}={frame.text_of(value)}" for keyword, value in node.keywords]
            forms = [
                f"{PREFIX[dialect]}.{call.name}({', '.join(given)})" for dialect in error.dialects
            ]
            error.help = f"write {' or '.join(forms)}"
            raise

    def _refuse_rows(self, node: Call, name: str, frame: Frame, arguments: Sequence[Any]) -> None:
        """Refuse the sum of a matrix in a program that was written for Python.

        There, it is the sum of the rows.
        """
        if name != "sum" or not arguments or {"axis", "dim"} & dict(node.keywords).keys():
            return
        axes = self.value(
            list(arguments[0]) if isinstance(arguments[0], tuple) else arguments[0]
        ).ndim
        dialect, own = self.scope.dialect, evidence_of(frame, self.scope).prefixes
        if axes > 1 and (own or self.scope.imported or dialect.is_pasted() or dialect.asked_for):
            prefix = PREFIX[next(iter(own)) if len(own) == 1 else dialect.asked_for or NUMPY]
            text = frame.text_of(node.arguments[0])
            raise AmbiguousError(
                f"'sum()' of an array of {axes} axes has two readings: Python's is over the rows, "
                "NumPy's over all entries",
                help=f"write {prefix}.sum({text}), or sum({text}, axis=0) for the rows",
            )

    def _refuse_all_axes(
        self, node: Call, name: str, frame: Frame, arguments: Sequence[Any]
    ) -> None:
        """Refuse ``softmax(m)`` of a matrix without an axis.

        SciPy's goes over all entries, that of networks along the last axis.
        """
        parameter = meanings.stated_parameter(name)
        if len(arguments) != 1 or {"axis", "dim"} & dict(node.keywords).keys() or not parameter:
            return
        axes = self.value(arguments[0]).ndim
        if axes > 1:
            callee = node.callee
            text = frame.text_of(
                callee.base if isinstance(callee, Attribute) else node.arguments[0]
            )
            raise AmbiguousError(
                f"'{name}()' of an array of {axes} axes has two readings: over all entries, and "
                "along the last axis",
                help=f"write {name}({text}, {parameter}=None) or {name}({text}, {parameter}=-1)",
            )

    # -- what stops gradients

    def settle(
        self, made: Any, node: Call, frame: Frame, function: Function, given: Sequence[Any]
    ) -> Any:
        """Return the result of a call, detached where its library stops gradients.

        That is the library that the call was written for. Raises ArgumentError for calls that JAX
        refuses on differentiated values.
        """
        name, library, method = function.name, function.library, function.base is not None
        if library == MATH:
            library = self.only_dialect(frame) or NUMPY
            stops = refused = True
        else:
            stops = detaches(
                name, library, method, bool(given) and isinstance(given[0], (list, tuple))
            )
            refused = is_refused(name, library, method)
        concerned = (library == TORCH and stops) or (library == JAX and refused)
        if not concerned or not any(map(self._varies, given)):
            return made
        callee = node.callee
        written = (
            f".{callee.name}()"
            if isinstance(callee, Attribute) and method
            else f"{frame.text_of(callee)}(...)"
        )
        if library == JAX:
            raise ArgumentError(
                f"'{written}' of a value that is differentiated is an error in JAX, where it has "
                "no number yet",
                help=f"leave {written} out",
            )
        return self._detach(frame.keep(node, made), written)

    def convert(self, made: Any, node: Call, frame: Frame, name: str, given: Sequence[Any]) -> Any:
        """Return the result of a conversion to a plain number, ``float(x)`` or ``x.item()``.

        It is detached as by `settle`. In NumPy's code it is x. If nothing tells the code's dialect,
        it stops gradients as in PyTorch's, where it is written for that purpose.
        """
        if isinstance(node.callee, Attribute) and name != "item":
            return made  # x.float() is x with another dtype, not a number of Python
        if name not in CONVERSIONS or not any(map(self._varies, given)):
            return made
        known = self._dialect(meanings.Call("item", True, (False,), ()), node, frame)
        stopped = self.settle(made, node, frame, Function("item", known or TORCH, given[0]), given)
        if (
            known is None
            and isinstance(stopped, Expr)
            and (written := self.scope.detached.get(stopped))
        ):
            self.notes_of[stopped] = (
                f"'{written}' stops gradients here, as in PyTorch; in NumPy's code, which '# "
                "dialect: numpy' says, it does not"
            )
        return stopped

    def only_dialect(self, frame: Frame) -> str | None:
        """Return the dialect of a statement, if its prefixes, or else its program's, show only one.

        The program's evidence is its prefixes, its imports, or the dialect asked for.
        """
        own = evidence_of(frame, self.scope).prefixes
        evidence = self.scope.dialect.evidence()
        found = own or evidence.prefixes or evidence.imports
        return (
            next(iter(found))
            if len(found) == 1
            else self.scope.dialect.asked_for
            if not found
            else None
        )

    def _varies(self, argument: Any) -> bool:
        floats = [node for node in nodes_in(argument) if node.kind == "float"]
        return any(node.is_leaf and node not in self.scope.frozen for node in reachable(floats))

    def _detach(self, result: Any, written: str) -> Any:
        if isinstance(result, (list, tuple)):
            return type(result)([self._detach(part, written) for part in result])
        if not isinstance(result, Expr) or result.kind != "float":
            return result
        stopped: Expr = structure.detach(result)
        self.scope.detached[stopped] = written
        return stopped

    # -- imports

    def take(self, statement: Import) -> None:
        """Bind the names of an import line.

        Raises UnknownNameError for a module or a name that is not known, when the others are bound.
        """
        wrong = None
        for item in statement.items:
            try:
                self._take(item)
            except UnknownNameError as error:
                wrong = wrong or error.at(item.span, statement.source)
                line, _ = statement.source.position(item.span.start)
                self.scope.failed[item.alias] = line
        if wrong is not None:
            raise wrong

    def _take(self, item: Imported) -> None:
        if item.path == "__future__":  # matters to Python only
            return
        if item.path not in MODULES:
            raise unknown_module(item.path)
        if item.name == "*":
            return  # names mean the same without it; the dialect has noted the line
        value: Any = Module(item.path if item.aliased else item.alias)
        if item.name is not None:
            value = of_library(self, item.path, item.name)
        if item.alias in self.scope.outside:
            raise UnknownNameError(
                f"'{item.alias}' is imported, and has a value from outside",
                help="give one of them another name",
            )
        self.scope.unbind(item.alias)
        self.scope.functions.pop(item.alias, None)
        self.scope.imported[item.alias] = value


def _form(node: Call, name: str, method: bool, arguments: Sequence[Any]) -> meanings.Call:
    return meanings.Call(
        name,
        method,
        tuple(isinstance(a, (list, tuple)) for a in arguments),
        tuple(sorted(dict(node.keywords))),
    )
