"""How far a check or a computation is: a line on standard error while it takes long, which goes away at the end."""

from __future__ import annotations

import sys
import time
from threading import Timer
from typing import Any, Self

from gradcli.inert import one_line
from gradcli.report.outcomes import Outcome

_PATIENCE = 0.5  # seconds before anything is shown


class Progress:
    """Counts outcomes, and shows the counts if it is wanted and the work goes on for more than half a second."""

    def __init__(self, wanted: bool) -> None:
        self.checked = self.bad = 0
        self.suite = ""
        self.started = time.monotonic()
        self.display: Any = None
        self.timer = Timer(_PATIENCE, self._show) if wanted else None

    def add(self, outcome: Outcome) -> None:
        self.checked += 1
        self.bad += outcome.bad
        self.suite = outcome.suite

    def __enter__(self) -> Self:
        if self.timer is not None:
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
        if self.display is not None:
            self.display.stop()

    def line(self) -> str:
        parts = [f"{self.checked:,} checked", f"{self.bad:,} failed" if self.bad else "", f"{time.monotonic() - self.started:.0f} s"]
        return ", ".join(part for part in parts if part) + f"  {one_line(self.suite, 40)}"

    def _show(self) -> None:
        from rich.live import Live
        from rich.spinner import Spinner

        from gradcli.cli.write.terminal import console, unstyled

        spinner = Spinner("dots" if (sys.stderr.encoding or "").lower().startswith("utf") else "line")

        def current() -> Spinner:
            line = unstyled(self.line())
            line.no_wrap, line.overflow = True, "ellipsis"
            spinner.update(text=line)
            return spinner

        display = Live(
            get_renderable=current,
            console=console(sys.stderr, forced=False),
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        display.start()
        self.display = display


class ChunkProgress(Progress):
    """How many chunks are done, and how long the others will take."""

    def __init__(self, wanted: bool, chunks: int) -> None:
        super().__init__(wanted)
        self.chunks = chunks

    def done(self) -> None:
        self.checked += 1

    def line(self) -> str:
        spent = time.monotonic() - self.started
        left = spent / self.checked * (self.chunks - self.checked) if self.checked else None
        minutes, seconds = divmod(round(left or 0), 60)
        return f"{self.checked:,} of {self.chunks:,} chunks" + ("" if left is None else f", {minutes}:{seconds:02} left")
