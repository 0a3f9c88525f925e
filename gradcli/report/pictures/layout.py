"""Where boxes stand: layers from operands to their users, by a library for such layouts (Sugiyama's method)."""

from __future__ import annotations

from collections.abc import Iterable
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
    laid = list(dict.fromkeys((min(edge), max(edge)) for edge in edges if edge[0] != edge[1]))
    joined = sorted({key for edge in laid for key in edge})
    numbers = {key: number for number, key in enumerate(joined)}  # larger ones are bends of long edges
    places: dict[int, Point] = {}
    ways: dict[tuple[int, int], list[Point]] = {}
    left = layers = 0.0
    parts = laid and _from_edges()([(numbers[a], numbers[b]) for a, b in laid], vertex_spacing=1, dummy_vertices=True, dummy_size=_BEND)
    for positions, _, _, passed in parts:
        edge, top = min(x for _, (x, _) in positions), max(y for _, (_, y) in positions)
        points = {number: (float(x - edge) + left, float(top - y)) for number, (x, y) in positions}
        places |= {joined[number]: point for number, point in points.items() if number < len(joined)}
        following = {begin: end for begin, end in passed or () if begin >= len(joined)}
        for begin, end in passed or ():
            way = [begin, end]
            while way[-1] >= len(joined):
                way.append(following[way[-1]])
            if begin < len(joined):
                ways[joined[begin], joined[way[-1]]] = [points[number] for number in way]
        left = max(x for x, _ in points.values()) + 1
        layers = max(layers, *(y for _, y in points.values()))
    for key in keys:
        if key not in numbers:
            places[key] = (left, 0.0)
            left += 1
    return Layout(places, ways, max(left - 1, 0.0), layers)


def _from_edges() -> Any:
    """Return what lays edges out: there are wheels of it for the usual systems, not for every one that has Python."""
    try:
        from fast_sugiyama import from_edges
    except ImportError as error:
        raise OutputError(
            "pictures are laid out by fast-sugiyama, which cannot be imported",
            help="pip install fast-sugiyama; --format mermaid does without it",
        ) from error
    return from_edges
