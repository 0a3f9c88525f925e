"""``gradcli repl``: a session on a terminal, or lines of standard input that are answered when they are complete."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.cli import interrupts
from gradcli.cli.inputs.positionals import one_word
from gradcli.cli.repl.commands import run_command
from gradcli.cli.repl.session import Session, Transcript, first_line, is_terminal, transcript_of
from gradcli.cli.request import ReplRequest
from gradcli.cli.write.results import is_styled
from gradcli.cli.write.streams import put
from gradcli.limits import DEFAULT


def converse(request: ReplRequest) -> int:
    """Converse on a terminal; else answer lines of standard input as they come."""
    transcript = transcript_of(request)
    if not is_terminal():
        return answer_lines(transcript, request.file)
    put(first_line())
    with interrupts.staying():
        from gradcli.cli.repl.prompt import converse as talk
        from gradcli.cli.repl.prompt import history_file

        session = Session(run_command, transcript, styled=True)
        if request.file is not None:
            put(session.answer(f":load {one_word(request.file)}", 80).text)
        return talk(session, history_file() if request.history else None, is_styled(request.color))


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
    from gradcli.cli.repl.prompt import is_complete
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
