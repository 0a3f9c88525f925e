"""What has been typed before, in a file of the user's that nobody else can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gradcli.storage.cache import folder

_MOST = 1 << 20  # bytes; of more, the older half goes


def history_file() -> Path | None:
    """Where it is kept, made if it was not there; None where the user has no folder, or may not write there."""
    where = folder()
    if where is None:
        return None
    path = where / "repl" / "history"
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        for place in (where, path.parent):
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        os.chmod(path, 0o600)
        _cut(path)
    except OSError:
        return None
    return path


def _cut(path: Path) -> None:
    """Leave the newer half of what has become too long."""
    from gradcli.storage.cache import NEW
    from gradcli.storage.whole_files import put_entry

    if path.stat().st_size > _MOST:
        content = path.read_bytes()[-_MOST // 2 :]
        begin = content.find(b"\n# ")  # an entry's first line is its time
        put_entry(path, content[begin + 1 :] if begin >= 0 else b"", NEW)
