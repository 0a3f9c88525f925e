"""Entry point of ``python -m gradcli`` and of the console script.

An interrupt ends it with 130 at any moment, also while it starts.
"""

import os

try:
    from gradcli.cli.process import run
except KeyboardInterrupt:
    os.write(2, b"interrupted\n")
    os._exit(130)

if __name__ == "__main__":
    run()
