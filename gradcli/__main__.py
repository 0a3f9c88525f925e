"""``python -m gradcli``: the command line."""

from gradcli.cli.main import run

if __name__ == "__main__":
    run()
