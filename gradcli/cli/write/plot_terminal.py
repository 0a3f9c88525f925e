"""Charts of curves on a terminal, with rich, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from gradcli.cli.write.terminal import Labelled, plain
from gradcli.inert import shown
from gradcli.report.derivative_sheet import label_width
from gradcli.report.plot_canvas import Row
from gradcli.report.plot_record import PlotRecord
from gradcli.report.plot_sheet import lines_of, title


class PlotTerminal(Labelled):
    """Charts, and records below them, for a person."""

    def show_all(self, rows: Sequence[Row], records: Sequence[PlotRecord]) -> None:
        for row in rows:
            self.console.print(Text.assemble(*((shown(text), colour) for text, colour in row)), soft_wrap=True)
        self.first = not rows
        for record in records:
            self.between()
            self.console.print(plain("\n".join(title(record)), style="bold"), soft_wrap=True)
            lines = lines_of(record)
            width = label_width(lines)
            for line in lines:
                if line.kind == "verdict" and record.check is not None:
                    word = record.check.worst.word
                    self.console.print(self.verdict(record.check.worst, line.text.removeprefix(word).lstrip(" :")), soft_wrap=True)
                else:
                    self.line(line, width)
        self.console.file.flush()
