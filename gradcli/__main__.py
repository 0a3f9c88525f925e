"""Entry point of ``python -m gradcli`` and of the console script.

Signals are handled before anything else is imported.
"""

import os


def run() -> None:
    """Entry point. An interrupt ends it with 130 at any moment, also while it starts."""
    # NumPy's BLAS starts threads that spin while they wait for work; this timeout makes them sleep
    # at once.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        from gradcli.cli import endings

        endings.take_over()
    except KeyboardInterrupt:
        os.write(2, b"interrupted\n")
        os._exit(130)
    from gradcli.cli.main import run

    run()


if __name__ == "__main__":
    run()
