"""Documents held to a schema in XSD, as far as that of JUnit's reports goes: elements, their order,
attributes, patterns.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

_XS = "{http://www.w3.org/2001/XMLSchema}"


class Schema:
    """A schema without namespaces.

    It raises KeyError for what it does not know, rather than to let it pass.
    """

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        self.elements = {e.get("name"): e for e in root.iter(f"{_XS}element") if e.get("name")}
        self.types = {
            t.get("name"): t for t in root if t.tag in (f"{_XS}complexType", f"{_XS}simpleType")
        }

    def problems(self, element: ET.Element, where: str = "") -> Iterator[str]:
        """What of a document is not as the schema has it, each with its path."""
        where = f"{where}/{element.tag}"
        declared = self.elements.get(element.tag)
        if declared is None:
            yield f"{where}: no such element"
            return
        kind = declared.find(f"{_XS}complexType")
        kind = self.types.get(declared.get("type")) if kind is None else kind
        if kind is None:
            assert declared.get("type") == "xs:string"
            if element.attrib or len(element):
                yield f"{where}: text only"
            return
        if kind.get("mixed") != "true" and (element.text or "").strip():
            yield f"{where}: has text"
        models = [part for part in kind if part.tag in (f"{_XS}sequence", f"{_XS}choice")]
        children = "".join(f"<{child.tag}>" for child in element)
        if not re.fullmatch("".join(map(self._content, models)), children):
            yield f"{where}: holds {children}"
        yield from (f"{where}: {problem}" for problem in self._attributes(kind, element))
        for child in element:
            yield from self.problems(child, where)

    def _content(self, part: ET.Element) -> str:
        """What an element may hold, as a regular expression of names."""
        made = {
            f"{_XS}element": lambda: re.escape(f"<{part.get('ref') or part.get('name')}>"),
            f"{_XS}sequence": lambda: "".join(map(self._content, part)),
            f"{_XS}choice": lambda: "|".join(map(self._content, part)),
        }[part.tag]()
        most = part.get("maxOccurs", "1")
        return f"(?:{made}){{{part.get('minOccurs', '1')},{'' if most == 'unbounded' else most}}}"

    def _attributes(self, kind: ET.Element, element: ET.Element) -> Iterator[str]:
        declared = {each.get("name"): each for each in kind.findall(f"{_XS}attribute")}
        yield from (
            f"no attribute '{name}' is known" for name in element.attrib.keys() - declared.keys()
        )
        for name, each in declared.items():
            if name not in element.attrib:
                if each.get("use") == "required":
                    yield f"'{name}' is missing"
            elif each.get("type") != "xs:string":
                pattern = (
                    self.types[each.get("type")].find(f"{_XS}restriction/{_XS}pattern").get("value")
                )
                if not re.fullmatch(pattern, element.attrib[name]):
                    yield f"'{name}' cannot be {element.attrib[name]!r}"
