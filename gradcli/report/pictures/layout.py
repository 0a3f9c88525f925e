"""Where boxes stand: layers from operands to their users, by a library for such layouts (Sugiyama's method)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gradcli.errors import OutputError

Point = tuple[float, float]

_BEND = 0.15  # the room of a long edge between boxes, in theirs


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in units of boxes, from the left and from the top; each edge as the points that it goes through, its ends among them."""

    places: dict[int, Point]
    ways: dict[tuple[int, int], list[Point]]
    columns: float
    layers: float


def layout(keys: Iterable[int], edges: Iterable[tuple[int, int]]) -> Layout:
    """Places for keys, of which larger ones use smaller ones: an edge that does not go upwards is laid as if it did, so that none are in a
    circle. What no edge leads to stands beside the others."""
    laid = {(min(edge), max(edge)): None for edge in edges if edge[0] != edge[1]}
    alone = [key for key in keys if all(key not in edge for edge in laid)]
    places: dict[int, Point] = {}
    ways: dict[tuple[int, int], list[Point]] = {}
    left = layers = 0.0
    for part in _parts(laid):
        width, height = _add(part, left, places, ways)
        left += width + 1
        layers = max(layers, height)
    for key in alone:
        places[key] = (left, 0.0)
        left += 1
    return Layout(places, ways, max(left - 1, 0.0), layers)


def _parts(edges: Iterable[tuple[int, int]]) -> Iterator[_Part]:
    """The layouts of what hangs together."""
    listed = list(edges)
    if listed:
        from_edges = _library()
        keys = sorted({key for edge in listed for key in edge})
        numbers = {key: number for number, key in enumerate(keys)}
        found = from_edges([(numbers[a], numbers[b]) for a, b in listed], vertex_spacing=1, dummy_vertices=True, dummy_size=_BEND)
        for positions, _, _, passed in found:
            yield _Part(keys, positions, passed or ())


def _library() -> Any:
    """Return what lays edges out: there are wheels of it for the usual systems, not for every one that has Python."""
    try:
        from fast_sugiyama import from_edges
    except ImportError as error:
        raise OutputError(
            "pictures are laid out by fast-sugiyama, which cannot be imported",
            help="pip install fast-sugiyama; --format mermaid does without it",
        ) from error
    return from_edges


class _Part:
    """One layout: numbers that are no key's are bends of long edges."""

    def __init__(self, keys: list[int], positions: Iterable[Any], edges: Iterable[Any]) -> None:
        self.keys = keys
        self.points = {number: (float(x), float(y)) for number, (x, y) in positions}
        self.edges = list(edges)


def _add(part: _Part, left: float, places: dict[int, Point], ways: dict[tuple[int, int], list[Point]]) -> Point:
    """Put a layout beside those before it; its width and height."""
    lowest_x = min(x for x, _ in part.points.values())
    top = max(y for _, y in part.points.values())
    points = {number: (x - lowest_x + left, top - y) for number, (x, y) in part.points.items()}
    bends = {number for number in points if number >= len(part.keys)}
    following = {begin: end for begin, end in part.edges if begin in bends}
    for number, point in points.items():
        if number not in bends:
            places[part.keys[number]] = point
    for begin, end in part.edges:
        if begin in bends:
            continue
        way = [begin, end]
        while way[-1] in bends:
            way.append(following[way[-1]])
        ways[part.keys[begin], part.keys[way[-1]]] = [points[number] for number in way]
    return max(x for x, _ in points.values()) - left, max(y for _, y in points.values())
