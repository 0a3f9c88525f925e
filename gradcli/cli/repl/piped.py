"""Lines of standard input as a session without a prompt: each is answered when it is complete."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli.inputs.positionals import one_word
from gradcli.cli.repl.commands import run_command
from gradcli.cli.repl.prompt import is_complete
from gradcli.cli.repl.session import Session, Transcript
from gradcli.cli.write.results import is_styled
from gradcli.cli.write.streams import put
from gradcli.limits import DEFAULT


def answer_lines(transcript: Transcript, path: str | None) -> int:
    """Answer all lines; the highest exit code of them."""
    session = Session(run_command, transcript, styled=is_styled(transcript.settings.color))
    code = 0
    typed = inputs() if path is None else (text for texts in ([f":load {one_word(path)}"], inputs()) for text in texts)
    for text in typed:
        answer = session.feed(text)
        put(answer.text)
        code = max(code, answer.code)
        if answer.ends:
            break
    return code


def inputs() -> Iterator[str]:
    """What is typed, piece by piece: lines that go on are one."""
    from gradcli.files.stores import lines_of

    pending = ""
    for line in lines_of("-", DEFAULT.length):
        pending += line
        if not pending.strip():
            pending = ""
        elif is_complete(pending.removesuffix("\n")):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
