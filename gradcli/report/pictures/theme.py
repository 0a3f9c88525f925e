"""Colours of pictures: by role and by the size of adjoints, for light and for dark surroundings."""

from __future__ import annotations

ROLES = ("leaf", "frozen", "const", "operation", "folded", "result")

# Of each role its filling, its border and its text: the text is readable on the filling (a contrast of 4.5 at least).
LIGHT = {
    "leaf": ("#dbeafe", "#2563eb", "#172554"), "frozen": ("#e2e8f0", "#64748b", "#1e293b"), "const": ("#f1f5f9", "#94a3b8", "#334155"),
    "operation": ("#ffffff", "#475569", "#0f172a"),
    "folded": ("#f3e8ff", "#9333ea", "#3b0764"), "result": ("#dcfce7", "#16a34a", "#052e16"),
}  # fmt: skip
DARK = {
    "leaf": ("#172554", "#60a5fa", "#dbeafe"), "frozen": ("#334155", "#94a3b8", "#e2e8f0"), "const": ("#1e293b", "#64748b", "#cbd5e1"),
    "operation": ("#0f172a", "#94a3b8", "#f1f5f9"),
    "folded": ("#3b0764", "#c084fc", "#f3e8ff"), "result": ("#052e16", "#4ade80", "#dcfce7"),
}  # fmt: skip
PAPER = {"light": "#ffffff", "dark": "#020617"}
INK = {"light": "#334155", "dark": "#cbd5e1"}  # of edges and of text beside boxes
FLOW = {"light": "#9a3412", "dark": "#fbbf24"}  # of adjoints and of what flows back

# From an adjoint of zero to the largest, and one that is not finite.
SHADES_LIGHT = ("#e2e8f0", "#fef3c7", "#fde68a", "#fcd34d", "#f59e0b", "#b45309", "#dc2626")
SHADES_DARK = ("#334155", "#451a03", "#78350f", "#92400e", "#d97706", "#fbbf24", "#f87171")


def colours(dark: bool) -> list[tuple[str, str]]:
    """The colours of a theme by the names of the style's variables."""
    word = "dark" if dark else "light"
    found = [("--paper", PAPER[word]), ("--ink", INK[word]), ("--flow", FLOW[word])]
    for role, (fill, border, text) in (DARK if dark else LIGHT).items():
        found += [(f"--{role}-fill", fill), (f"--{role}-line", border), (f"--{role}-text", text)]
    found += [(f"--shade-{number}", shade) for number, shade in enumerate(SHADES_DARK if dark else SHADES_LIGHT)]
    return found
