"""A fuzzer of the command line; `words.json` has the words of which its inputs are made."""

import json
from pathlib import Path

WORDS = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
