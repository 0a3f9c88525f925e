"""Run a command, and report seconds and peak memory: ``launch.py REPORT COMMAND...``.

This stands between the benchmark and what it measures because Linux counts the memory of a process
that starts a program as the program's, too: so it imports next to nothing.
"""

import os
import sys
import time

report, *command = sys.argv[1:]
start = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - start
with open(report, "w", encoding="ascii") as file:
    file.write(f"{seconds} {used.ru_maxrss * (1 if sys.platform == 'darwin' else 1024)}")
sys.exit(os.waitstatus_to_exitcode(status))
