"""What PyTorch says of the equation of an einsum."""

from __future__ import annotations


def refused(text: str, shapes: list[tuple[int, ...]]) -> Exception | None:
    """The error for operands of these shapes."""
    said = _first(text, shapes)
    return None if said is None else RuntimeError(f"einsum(): {said}")


def _first(text: str, shapes: list[tuple[int, ...]]) -> str | None:
    terms, arrow, result = text.partition("->")
    operand, dots = 0, 0
    for place, letter in enumerate(terms):
        if letter == ",":
            operand, dots = operand + 1, 0
        elif letter == ".":
            dots += 1
            if dots > 3:
                return f"found '.' for operand {operand} for which an ellipsis was already found"
        elif letter != " " and not (letter.isascii() and letter.isalpha()):
            return f"invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
    named = terms.replace(" ", "").split(",")
    if len(named) != len(shapes):
        more = "fewer" if len(named) > len(shapes) else "more"
        return f"{more} operands were provided than specified in the equation"
    for place, (term, shape) in enumerate(zip(named, shapes, strict=True)):
        letters = term.replace("...", "")
        if "..." in term:
            if len(letters) > len(shape):
                return _count(letters, shape, place, "even though an ellipsis was given").replace("does not match", "is larger than")
        elif len(letters) != len(shape):
            return _count(letters, shape, place, "and no ellipsis was given")
    for place, letter in enumerate(result, len(terms) + 2):
        if letter not in " ." and not (letter.isascii() and letter.isalpha()):
            return f"invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
    letters = result.replace(" ", "").replace("...", "")
    for letter in letters if arrow else "":
        if letters.count(letter) > 1:
            return f"output subscript {letter} appears more than once in the output"
        if letter not in terms:
            return f"output subscript {letter} does not appear in the equation for any input operand"
    return _sizes(named, shapes)


def _count(letters: str, shape: tuple[int, ...], place: int, ellipsis: str) -> str:
    return (
        f"the number of subscripts in the equation ({len(letters)}) does not match the number of dimensions ({len(shape)}) for operand "
        f"{place} {ellipsis}"
    )


def _sizes(named: list[str], shapes: list[tuple[int, ...]]) -> str | None:
    seen: dict[str, int] = {}
    for place, (term, shape) in enumerate(zip(named, shapes, strict=True)):
        before, _, after = term.partition("...")
        sizes = [*zip(before, shape, strict=False), *zip(after, shape[len(shape) - len(after) :], strict=True)]
        own: dict[str, int] = {}
        for letter, n in sizes:
            if own.setdefault(letter, n) != n:
                return f"subscript {letter} is repeated for operand {place} but the sizes don't match, {n} != {own[letter]}"
        for letter, n in own.items():
            if n != 1 and seen.get(letter, 1) not in (1, n):
                fits = f"does not broadcast with previously seen size {seen[letter]}"
                return f"subscript {letter} has size {n} for operand {place} which {fits}"
            seen[letter] = max(seen.get(letter, 1), n)
    return None
