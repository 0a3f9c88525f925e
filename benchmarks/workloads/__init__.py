"""The workloads, in the order of the table."""

from __future__ import annotations

from benchmarks.contest import Group, Setting, Workload
from benchmarks.workloads import (
    chains,
    checks,
    cluster,
    elementwise,
    judging,
    layers,
    native,
    small,
    startup,
    tensors,
    throughput,
)

_MODULES = {
    "T1": small, "T2": elementwise, "T3": layers, "T4": chains, "T5": chains, "T6": startup, "T7": startup, "T8": throughput, "T9": checks,
    "T10": judging, "T11": cluster, "T12": tensors, "nodes": chains, "entries": elementwise,
}  # fmt: skip
_GROUPS = {"native": native}
KEYS = (*_MODULES, *_GROUPS)


def chosen(keys: tuple[str, ...], setting: Setting) -> list[Workload | Group]:
    """The workloads with these keys; files are made for no other module's."""
    modules = dict.fromkeys(_MODULES[key] for key in keys if key in _MODULES)
    found = [
        workload
        for module in modules
        for workload in module.workloads(setting)
        if workload.key in keys
    ]
    groups = [group for key in keys if key in _GROUPS for group in _GROUPS[key].groups(setting)]
    return [*sorted(found, key=lambda workload: KEYS.index(workload.key)), *groups]
