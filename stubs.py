"""Stubs: the names that editors and type checkers cannot find in the code, PyTorch's, and `evaluate` by its modes.

``python stubs.py [FOLDER]`` writes the ``.pyi`` files of the package, from the registry and from the signature of `evaluate`, into
the package, or into a folder as the build does (hatch_build.py), which has NumPy and none of the other libraries.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Any

import gradcli
from gradcli import api
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.spec import Composite, Op
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import record_of
from gradcli.tensors.torch import methods, namespace

WIDTH = 140
ANY_CALL = "*arguments: Any, **keywords: Any"
# Functions of several results, or of as many as they are given arrays, which their records do not tell.
SEVERAL = {
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "gradient",
    "std_mean",
    "var_mean",
    "where",
    "unique",
    "nonzero",
}
_PLAIN = {"bool", "int", "float", "str"}
MODES = {  # of `evaluate`: the class of its result, and which options say so
    "grad": (
        "GradientRecord",
        {"mode": 'Literal["grad"] = ...', "jvp": "None = ...", "hvp": "None = ..."},
    ),
    "jacobian": (
        "JacobianRecord",
        {"mode": 'Literal["jacobian"]', "jvp": "None = ...", "hvp": "None = ..."},
    ),
    "hessian": (
        "HessianRecord",
        {"mode": 'Literal["hessian"]', "jvp": "None = ...", "hvp": "None = ..."},
    ),
    "jvp": (
        "JvpRecord",
        {"mode": 'Literal["grad", "jvp"] = ...', "jvp": "Mapping[str, Any]", "hvp": "None = ..."},
    ),
    "hvp": (
        "HvpRecord",
        {"mode": 'Literal["grad", "hvp"] = ...', "jvp": "None = ...", "hvp": "Mapping[str, Any]"},
    ),
}
CHECKS = {"Check": "Literal[True] = ...", "None": "Literal[False]", "Check | None": "bool"}


def named_here(module: str, names: Iterable[str]) -> str:
    return f"from {module} import {', '.join(f'{name} as {name}' for name in sorted(names))}"


def head(room: str, *lines: str) -> list[str]:
    return [f'"""{room} Written by stubs.py."""', "", *lines]


def folded(name: str, parameters: list[str], result: str, indent: str = "") -> list[str]:
    """Return a function's declaration, over several lines if it is long."""
    line = f"{indent}def {name}({', '.join(parameters)}) -> {result}: ..."
    if len(line) <= WIDTH:
        return [line]
    inner = f"{indent}    {', '.join(parameters)}"
    if len(inner) <= WIDTH:
        return [f"{indent}def {name}(", inner, f"{indent}) -> {result}: ..."]
    return [
        f"{indent}def {name}(",
        *(f"{indent}    {parameter}," for parameter in parameters),
        f"{indent}) -> {result}: ...",
    ]


# -- what functions of the catalogue give ----------------------------------------------------------------------------------


def result_of(found: tuple[Op | Composite, Signature], name: str) -> str:
    """Return what a function gives: a tensor, a tuple of them, or what depends on its arguments."""
    record, _ = found
    if isinstance(record, Op):
        return "Tensor" if record.outputs == 1 and name not in SEVERAL else "Any"
    annotated = str(getattr(record.definition, "__annotations__", {}).get("return", ""))
    if annotated.startswith("tuple"):
        return "tuple[Tensor, ...]" if "..." in annotated or not record.results else "Any"
    depends = record.results or name in SEVERAL or "return_indices" in record.static
    return "Any" if depends else "Tensor"


def result_of_own(function: Callable[..., Any]) -> str:
    """Return what a function of the package says that it gives."""
    said = str(getattr(function, "__annotations__", {}).get("return", "Any"))
    if said in _PLAIN:
        return f"builtins.{said}"
    return said if said in ("Tensor", "None") else "Any"


def is_name(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def catalogue() -> dict[str, str]:
    """Every function under PyTorch's prefixes, and what it gives."""
    return {
        name: result_of(found, name)
        for name in namespace.function_names()
        if is_name(name) and (found := record_of(name))
    }


# -- the files ---------------------------------------------------------------------------------------------------------


def names_of_torch() -> list[str]:
    """PyTorch's names at the top: what has a place in the package is imported, the rest are functions of the catalogue."""
    by_module: dict[str, list[str]] = {}
    declared: list[str] = []
    for name, value in namespace.NAMES.items():
        module = next(
            (m for m in _homes(value) if getattr(import_module(m), name, None) is value), None
        )
        if module is not None:
            by_module.setdefault(module, []).append(name)
        elif isinstance(value, dtypes.dtype):
            declared.append(f"{name}: dtype")
        elif callable(value):
            declared += folded(name, [ANY_CALL], result_of_own(value))
        else:
            declared.append(f"{name}: {'builtins.float' if isinstance(value, float) else 'Any'}")
    own = {*namespace.NAMES}
    functions = {
        name: result
        for name, result in catalogue().items()
        if name not in own and name in namespace.names()
    }
    for name, result in sorted(functions.items()):
        declared += folded(name, [ANY_CALL], result)
    for name in sorted({*functions, *own}):
        if f"{name}_" not in own and record_of(name) is not None and hasattr(gradcli, f"{name}_"):
            declared += folded(f"{name}_", ["tensor: Tensor", ANY_CALL], "Tensor")
    imports = [named_here(module, names) for module, names in sorted(by_module.items())]
    return head(
        "PyTorch's names, as `import gradcli as torch` has them.",
        "import builtins",
        "from typing import Any",
        "",
        *_wrapped(imports),
        "",
        *declared,
    )


def _homes(value: Any) -> Iterator[str]:
    home = getattr(value, "__module__", None)
    if home is not None and home.startswith("gradcli."):
        yield home
    for place in ("core.in_place", "torch.creation", "torch.display", "core.modes", "core.dtypes"):
        if callable(value) and not isinstance(value, dtypes.dtype):
            yield f"gradcli.tensors.{place}"


def _wrapped(imports: Iterable[str]) -> list[str]:
    lines = []
    for line in imports:
        if len(line) <= WIDTH:
            lines.append(line)
        else:
            start, _, names = line.partition(" import ")
            lines += [f"{start} import (", *(f"    {name}," for name in names.split(", ")), ")"]
    return lines


def methods_of_tensors() -> list[str]:
    """Return what `torch/methods.py` attaches to the class."""
    lines: list[str] = []
    for name, value in sorted(methods.SPECIAL.items()):
        if isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> Tensor: ..."]
        elif name in _SPECIAL:
            lines += folded(name, _SPECIAL[name][0], _SPECIAL[name][1], "    ")
        elif name not in ("__repr__", "apply_op"):
            unary = name in ("__pos__", "__abs__", "__invert__", "__neg__")
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            other = [] if unary else ["other: object" if ignore else "other: Any"]
            lines.append(f"    def {name}({', '.join(['self', *other])}) -> Tensor: ...{ignore}")
    lines.append("    @staticmethod")
    lines += folded("apply_op", [ANY_CALL], "Any", "    ")
    attached = {*methods.OWN, *methods.functions(), *(f"{name}_" for name in methods.functions())}
    attached = {
        name
        for name in attached
        if is_name(name) and hasattr(Tensor, name) and name not in methods.SPECIAL
    }
    for name in sorted(name for name in attached if not _is_written(name)):
        lines += folded(name, ["self", ANY_CALL], _result_of_method(name), "    ")
    imports = [
        "import builtins",
        "from collections.abc import Iterator",
        "from typing import Any",
        "",
    ]
    imports += [
        "from gradcli.tensors.core.dtypes import Entries",
        "from gradcli.tensors.core.tensor import Tensor",
    ]
    return head(
        "The methods of tensors that are attached to their class.",
        *imports,
        "",
        "class CatalogueMethods(Entries):",
        *lines,
    )


_SPECIAL = {
    "__getitem__": (["self", "index: Any"], "Tensor"),
    "__setitem__": (["self", "index: Any", "value: Any"], "None"),
    "__iter__": (["self"], "Iterator[Tensor]"),
    "backward": (
        [
            "self", "gradient: Any = None", "retain_graph: builtins.bool | None = None", "create_graph: builtins.bool = False",
            "inputs: Any = None",
        ],
        "None",
    ),
    "__array_ufunc__": (["self", "*arguments: Any", "**keywords: Any"], "Any"),
    "__array_function__": (["self", "*arguments: Any", "**keywords: Any"], "Any"),
}  # fmt: skip


def _is_written(name: str) -> bool:
    """Return whether a method stands in the text of the class or of one below it."""
    value = vars(Tensor).get(name)
    written = isinstance(value, property) or (
        inspect.isfunction(value) and value.__code__.co_filename == inspect.getfile(Tensor)
    )
    return written or any(name in vars(kind) for kind in Tensor.__mro__[1:])


def _result_of_method(name: str) -> str:
    if name in methods.OWN:
        return result_of_own(methods.OWN[name])
    if name.endswith("_"):
        return "Tensor"
    found = record_of(f"Tensor.{name}") or record_of(name)
    return "Any" if found is None else result_of(found, name)


def overloads() -> list[str]:
    """`evaluate` by its modes and by whether a check is asked for."""
    signature = inspect.signature(api.evaluate)
    lines: list[str] = []
    for result, said in MODES.values():
        for check, asked in CHECKS.items():
            parameters = []
            for name, parameter in signature.parameters.items():
                if name == "seed":
                    parameters.append("*")
                plain = re.sub(r" = .*", " = ...", str(parameter).replace("'", ""))
                parameters.append(
                    f"{name}: {({**said, 'check': asked})[name]}"
                    if name in said or name == "check"
                    else plain
                )
            lines += ["@overload", *folded("evaluate", parameters, f"{result}[{check}]")]
    return lines


def api_stub() -> list[str]:
    imports = [
        "from collections.abc import Iterable, Mapping", "from typing import Any, Literal, overload", "",
        "from gradcli.explanations.explaining import explain as explain", "from gradcli.limits import Limits",
        "from gradcli.ops.calling.prefixes import Dialect",
        "from gradcli.query.interface import (",
        "    bound as bound, differentiate as differentiate, export as export, plot as plot,", ")",
        "from gradcli.options import Backend, DType",
        "from gradcli.report.results import GradientRecord, HessianRecord, HvpRecord, JacobianRecord, JvpRecord",
        "from gradcli.check.verdicts import Check",
    ]  # fmt: skip
    return head(
        "The Python API, with what `evaluate` gives in each mode.", *imports, "", *overloads()
    )


def top() -> list[str]:
    """Return the stub of the package: the API, and PyTorch's names."""
    imports = [named_here("gradcli", gradcli._SUBMODULES)]
    imports += [
        named_here(module, names.split()) for module, names in sorted(gradcli._PLACES.items())
    ]
    exported = [f"    {name!r},".replace("'", '"') for name in gradcli.__all__]
    lines = [
        "from gradcli.tensors.torch.names import *",
        *_wrapped(imports),
        "",
        "__all__ = [",
        *exported,
        "]",
        "__version__: __builtins_str",
    ]
    return head(
        "The API, and PyTorch's names.", "from builtins import str as __builtins_str", *lines
    )


def library() -> list[str]:
    declared = [
        line
        for name, result in sorted(catalogue().items())
        for line in folded(name, [ANY_CALL], result)
    ]
    imports = ["from typing import Any", "", "from gradcli.tensors.core.tensor import Tensor"]
    return head("Every function of the catalogue under its name there.", *imports, "", *declared)


def torch_stub() -> list[str]:
    modules = "autograd as autograd, func as func, linalg as linalg, nn as nn, special as special"
    return head(
        "PyTorch's names.",
        f"from gradcli import {modules}",
        "from gradcli.tensors.torch.names import *",
    )


FILES: dict[str, Callable[[], list[str]]] = {
    "__init__.pyi": top,
    "api.pyi": api_stub,
    "torch.pyi": torch_stub,
    "linalg.pyi": library,
    "special.pyi": library,
    "nn/functional.pyi": library,
    "tensors/torch/names.pyi": names_of_torch,
    "tensors/core/catalogue_methods.pyi": methods_of_tensors,
}


def write(folder: Path) -> None:
    for name, lines in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines(), ""]), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else Path(gradcli.__file__).parent)
