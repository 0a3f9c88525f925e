"""Mistakes in the machinery: the parser, lowering, indices, interning, seeds, the sweep, plans and
caches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from witness import LINES
from witness.programs import values_of

from planting.mistakes import Mistake, Program, Witness
from planting.witnesses import lines, plans, queries, trees, verdicts

# Where things stand: the one place to change when they move.
_AT = {
    "parser": "gradcli.language.parser", "text": "gradcli.ops.text", "registry": "gradcli.ops.registry",
    "statements": "gradcli.language.statements",
    "lowering": "gradcli.language.lowering", "calls": "gradcli.language.calls",
    "subscripts": "gradcli.language.subscripts", "reading": "gradcli.language.reading",
    "scope": "gradcli.language.scope", "nodes": "gradcli.graph.nodes",
    "sweep": "gradcli.graph.sweep", "constants": "gradcli.ops.constants", "writing": "gradcli.ops.writing",
    "bindings": "gradcli.query.bindings",
    "tree": "gradcli.language.syntax", "folding": "gradcli.plans.folding",
    "compiled": "gradcli.query.functions", "templates": "gradcli.query.templates", "cache": "gradcli.check.verdict_cache",
    "unrolling": "gradcli.plans.unrolling", "plan": "gradcli.plans.plan",
}  # fmt: skip

Wrap = Callable[[Any], Any]
Plant = Callable[[], AbstractContextManager[Any]]
Tests = Callable[[], Iterable[Witness]]


def _of(place: str) -> tuple[Any, str]:
    """The owner of a thing and its name: "parser:_Parser.number"."""
    module, _, path = place.partition(":")
    owner: Any = import_module(_AT[module])
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, name


def instead(place: str, wrap: Wrap) -> Plant:
    """Something made of what was there, in its place."""

    def plant() -> AbstractContextManager[Any]:
        owner, name = _of(place)
        return patch.object(owner, name, wrap(getattr(owner, name)))

    return plant


def entry(place: str, key: Any, wrap: Wrap) -> Plant:
    """The same of an entry of a table; its key may be a class, by its place."""

    def plant() -> AbstractContextManager[Any]:
        table = getattr(*_of(place))
        known = getattr(*_of(key)) if ":" in key else key
        return patch.dict(table, {known: wrap(table[known])})

    return plant


def means(sign: str, other: str) -> tuple[str, Plant]:
    """An operator that is taken for another one."""
    operators = "registry:OPERATORS"
    return f"{sign} is {other}", entry(operators, sign, lambda _: getattr(*_of(operators))[other])


def binds(sign: str, other: str, more: int) -> tuple[str, Plant]:
    """An operator that binds so much more."""
    return f"{sign} binds as {other}", entry("text:BINDING", sign, lambda power: power + more)


def everywhere(place: str, wrap: Wrap) -> Plant:
    """The same in every module that has imported it by its name."""

    @contextmanager
    def plant() -> Iterator[None]:
        owner, name = _of(place)
        right = getattr(owner, name)
        wrong = wrap(right)
        with ExitStack() as stack:
            import_module("gradcli.query.programs")
            for module in list(sys.modules.values()):
                if (
                    getattr(module, "__name__", "").startswith("gradcli.")
                    and vars(module).get(name) is right
                ):
                    stack.enter_context(patch.object(module, name, wrong))
            yield

    return plant


# -- what goes wrong
# -------------------------------------------------------------------------------------------------


def _from_the_right(binary: Any) -> Any:
    right = _of("text:SUM")[0].SUM + 1
    return lambda parser, least: binary(parser, least - (least == right))


def _signs_first(joined: Any) -> Any:
    """A power of what has a sign, in place of the sign of a power."""
    tree = _of("tree:Binary")[0]

    def wrong(parser: Any, node: Any, waiting: Any, **named: Any) -> Any:
        if [base is None for base, _ in waiting] != [True, False]:
            return joined(parser, node, waiting, **named)
        (_, sign), (base, _) = waiting
        waiting.clear()
        return parser.push(
            tree.Binary("**", parser.push(tree.Unary(sign.text, base, sign.start)), node)
        )

    return wrong


def _rounded(number: Any) -> Any:
    def wrong(self: Any, token: Any) -> Any:
        value = number(self, token)
        return float(np.float32(value)) if isinstance(value, float) else value

    return wrong


def _exchanged(rule: Any) -> Any:
    """Left for right in every infix operation."""

    def binary(low: Any, node: Any, activation: Any) -> Any:
        left, right = node.left, node.right
        node.left, node.right = right, left
        try:
            return rule(low, node, activation)
        finally:
            node.left, node.right = left, right

    return binary


def _other_branch(rule: Any) -> Any:
    def conditional(low: Any, node: Any, activation: Any) -> Any:
        value, otherwise = node.value, node.otherwise
        node.value, node.otherwise = otherwise, value
        try:
            return rule(low, node, activation)
        finally:
            node.value, node.otherwise = value, otherwise

    return conditional


def _call(change: Callable[[list[Any], dict[str, Any]], tuple[list[Any], dict[str, Any]]]) -> Wrap:
    def wrap(call: Any) -> Any:
        def wrong(
            low: Any,
            name: str,
            library: str,
            arguments: list[Any],
            keywords: dict[str, Any],
            bare: bool = False,
        ) -> Any:
            return call(low, name, library, *change(arguments, keywords), bare=bare)

        return wrong

    return wrap


def _index(change: Callable[[int], int]) -> Wrap:
    def wrap(index: Any) -> Any:
        def wrong(low: Any, part: Any) -> Any:
            found = index(low, part)
            return (
                change(found) if isinstance(found, int) and not isinstance(found, bool) else found
            )

        return wrong

    return wrap


def _listed(index: Any) -> Any:
    """A list of indices in ascending order, whatever was written."""

    def wrong(low: Any, part: Any) -> Any:
        return index(
            low,
            sorted(part, key=lambda node: node.payload)
            if isinstance(part, list) and len(part) > 1
            else part,
        )

    return wrong


def _slice(change: Callable[[list[Any]], list[Any]]) -> Wrap:
    def wrap(slice_: Any) -> Any:
        def wrong(low: Any, node: Any, results: Any) -> Any:
            found = slice_(low, node, results)
            found[:] = change(list(found))
            return found

        return wrong

    return wrap


def _axes(change: Callable[[int], int]) -> Wrap:
    def wrap(axes_of: Any) -> Any:
        def wrong(axis: Any, shape: Any) -> Any:
            if isinstance(axis, (tuple, list)):
                return axes_of(type(axis)(map(change, axis)), shape)
            return axes_of(axis if axis is None else change(axis), shape)

        return wrong

    return wrap


def _without_order(apply: Any) -> Any:
    """Nodes are found again whatever the order of their operands."""

    def wrong(self: Any, op: Any, operands: Any, static: Any = {}) -> Any:  # noqa: B006
        nodes = tuple(operands)
        other = self._interned.get((op, nodes[::-1])) if len(nodes) == 2 and not static else None
        return apply(self, op, nodes, static) if other is None else other

    return wrong


def _without_static(apply: Any) -> Any:
    """Nodes are found again whatever their parameters, if the shape is the same."""

    def wrong(self: Any, op: Any, operands: Any, static: Any = {}) -> Any:  # noqa: B006
        nodes = tuple(operands)
        made = apply(self, op, nodes, static)
        if not static:
            return made
        before = self._interned.setdefault(("planted", op, nodes), made)
        return before if before.shape == made.shape else made

    return wrong


def _alike_constants(constant: Any) -> Any:
    """Constants are found again by their first three digits."""

    def wrong(self: Any, value: Any) -> Any:
        made = constant(self, value)
        if type(value) is not float:
            return made
        return self._interned.setdefault(("planted", f"{value:.2e}"), made)

    return wrong


def _bound(change: Callable[[np.ndarray], np.ndarray]) -> Wrap:
    """An input is bound that is another one."""

    def wrap(bind: Any) -> Any:
        def wrong(self: Any, name: str, value: Any, **options: Any) -> Any:
            return bind(self, name, change(np.asarray(value)), **options)

        return wrong

    return wrap


def _overwritten(right: Any) -> Any:
    """Two contributions to one operand: the later one replaces the earlier."""

    def wrong(node: Any, *rest: Any) -> Any:
        parts = right(node, *rest)
        return [
            None if o in node.operands[i + 1 :] else part
            for i, (o, part) in enumerate(zip(node.operands, parts, strict=True))
        ]

    return wrong


def _of_ones(backward: Any) -> Any:
    def wrong(order: Any, seeds: Any, *rest: Any, **options: Any) -> Any:
        return backward(
            order, {node: seed * 0 + 1 for node, seed in seeds.items()}, *rest, **options
        )

    return wrong


def _first_again(method: Any) -> Any:
    """What is computed first is given ever again."""
    kept: list[Any] = []

    def wrong(*given: Any, **named: Any) -> Any:
        if not kept:
            kept.append(method(*given, **named))
        return kept[0]

    return wrong


def _first_of_each(method: Any) -> Any:
    """The same for each object that is asked."""
    kept: dict[int, tuple[Any, Any]] = {}

    def wrong(self: Any, *given: Any, **named: Any) -> Any:
        if id(self) not in kept:
            kept[id(self)] = self, method(self, *given, **named)
        return kept[id(self)][1]

    return wrong


_PARSER: list[tuple[str, Plant]] = [
    ("-x**2 is (-x)**2", instead("parser:_Parser.join", _signs_first)),
    ("x - y - z is x - (y - z)", instead("parser:_Parser.binary", _from_the_right)),
    binds("-", "*", 1),
    binds("%", "+", -1),
    binds("@", "+", -1),
    binds("and", "or", -1),
    binds("<", "and", -2),
    ("numbers are read in single precision", instead("parser:_Parser.number", _rounded)),
    (
        "x -= y is x = y - x",
        instead(
            "statements:Binary",
            lambda make: lambda operator, left, right: make(operator, right, left),
        ),
    ),
]
_LOWERING: list[tuple[str, Plant]] = [
    ("operands exchanged", entry("lowering:_RULES", "tree:Binary", _exchanged)),
    ("branches exchanged", entry("lowering:_RULES", "tree:Conditional", _other_branch)),
    *[means(*pair) for pair in (("<=", "<"), (">=", ">"), ("<", "<="), (">", ">="), ("==", "!="), ("and", "or"))],
    ("two arguments exchanged", instead("calls:call", _call(lambda given, named: (given[::-1] if len(given) == 2 else given, named)))),
    ("keepdims ignored", instead("calls:call", _call(lambda given, named: (given, {k: v for k, v in named.items() if k != "keepdims"})))),
    ("axis ignored", instead("calls:call", _call(lambda given, named: (given, {k: v for k, v in named.items() if k != "axis"})))),
    ("x.T is x", instead("reading:property_of", lambda of: lambda low, name, base: base if name == "T" else of(low, name, base))),
    ("x.shape backwards", instead("reading:property_of",
        lambda of: lambda low, name, base: of(low, name, base)[::-1] if name == "shape" else of(low, name, base))),
    ("pi to four digits", entry("constants:NAMED", "pi", lambda pi: 3.142)),
    ("e to four digits", entry("constants:NAMED", "e", lambda e: 2.718)),
    ("index off by one", instead("subscripts:_index", _index(lambda i: i + 1 if i < 0 else i - 1))),
    ("negative index from the front", instead("subscripts:_index", _index(lambda i: abs(i) - 1 if i < 0 else i))),
    ("list of indices in order", instead("subscripts:_index", _listed)),
    ("start of a slice off by one", instead("subscripts:_slice", _slice(lambda s: [None if s[0] is None else s[0] + 1, *s[1:]]))),
    ("stop of a slice off by one", instead("subscripts:_slice", _slice(lambda s: [s[0], None if s[1] is None else s[1] - 1, s[2]]))),
    ("step of a slice ignored", instead("subscripts:_slice", _slice(lambda s: [*s[:2], None]))),
    ("sign of a step ignored", instead("subscripts:_slice", _slice(lambda s: [*s[:2], None if s[2] is None else abs(s[2])]))),
    ("axis=-1 is 0", everywhere("writing:axes_of", _axes(lambda axis: 0 if axis == -1 else axis))),
    ("axis=-1 is 0, of one axis", everywhere("writing:one_axis", lambda one: lambda axis, ndim: one(0 if axis == -1 else axis, ndim))),
    ("axis off by one", everywhere("writing:axes_of", _axes(lambda axis: axis - 1))),
    ("an input transposed", instead("scope:Scope.bind_value", _bound(lambda x: x.T if x.ndim == 2 and len(x) == len(x.T) else x))),
    ("an input backwards", instead("scope:Scope.bind_value", _bound(lambda x: x[::-1] if x.ndim == 1 else x))),
    ("the seed ignored", instead("bindings:seed_of", lambda of: lambda seed: None if seed is None else np.ones_like(of(seed)))),
    ("the seed backwards", instead("bindings:seed_of", lambda of: lambda seed: None if seed is None else np.flip(of(seed)))),
]  # fmt: skip
_GRAPH: list[tuple[str, Plant]] = [
    ("interning without the order of operands", instead("nodes:Graph.apply", _without_order)),
    ("interning without parameters", instead("nodes:Graph.apply", _without_static)),
    ("interning of constants by three digits", instead("nodes:Graph.constant", _alike_constants)),
    ("contributions overwritten", instead("sweep:contributions", _overwritten)),
    ("un-broadcasting by a factor", instead("sweep:sum_to", lambda to: lambda x, shape: to(x, shape=shape) * 0.5)),
    ("cotangents not multiplied", instead("sweep:scale", lambda times: lambda cotangent, partial: times(cotangent * 0 + 1, partial))),
    ("a seed of ones in the sweep", everywhere("sweep:backward", _of_ones)),
]  # fmt: skip
_PLANS: list[tuple[str, Plant]] = [
    ("a quotient folded upside down", instead("folding:Folder._quotient", lambda fold: lambda self, x, y: fold(self, y, x))),
    ("a difference folded into a sum", instead("folding:Folder._difference", lambda fold: lambda self, x, y: self._sum(x, y))),
    ("a coefficient folded twice", instead("folding:Folder._scale", lambda fold: lambda self, c, x: fold(self, c * c, x))),
    ("numbers folded in single precision", instead("folding:Folder._number", lambda of: lambda self, v: of(self, float(np.float32(v))))),
    ("what was computed first, again", instead("plan:Plan.__call__", _first_of_each)),
]  # fmt: skip
_CACHES: list[tuple[str, Plant]] = [
    ("a form's first answer, again", instead("templates:straight_line", lambda make: lambda *t: _first_again(make(*t)))),
    (
        "a form's numbers in the other order",
        instead("templates:CompilationCache._read", lambda read: lambda self, *t: _reversed(read(self, *t))),
    ),
]  # fmt: skip


def _reversed(reading: Any) -> Any:
    return None if reading is None else (*reading[:-1], reading[-1][::-1])


@cache
def _shown() -> list[Program]:
    values = values_of(3)
    return [Program(text, values) for text in LINES]


def machinery() -> Iterator[Mistake]:
    kinds: list[tuple[str, list[tuple[str, Plant]], Tests, Callable[[], list[Program]]]] = [
        ("machinery: the parser", _PARSER, lambda: [*lines(), *trees()], _shown),
        ("machinery: lowering", _LOWERING, lines, _shown),
        ("machinery: graph and sweep", _GRAPH, lines, _shown),
        ("machinery: plans", _PLANS, plans, list),
        ("machinery: caches", _CACHES, queries, list),
        (
            "machinery: verdicts kept",
            [("the key of every verdict the same", instead("cache:key_of", _first_again))],
            verdicts,
            list,
        ),
    ]
    for kind, rows, tests, programs in kinds:
        for words, plant in rows:
            yield Mistake(
                kind,
                words,
                plant,
                lambda wide, programs=programs: programs(),
                lambda wide, tests=tests: tests(),
            )
