"""Texts that try to be more than text, and any others, for the tests of what is written."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

HOSTILE = {
    "nothing": "", "blanks": "  ", "a null": "a\0b", "a colour": "\x1b[31mred\x1b[0m", "a title": "\x1b]0;gone\x07",
    "a clear": "\x1b[2J\x1b[H", "a link": "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "a backspace": "rm\b\bok", "a return": "ok\rgone",
    "lines": "a\r\nb\n\n", "a tab": "\ta\tb", "C1": "\x9b31m\x85\x90", "a deletion": "a\x7fb", "an override": "\u202eexe.txt\u2066\u2069",
    "no width": "a\u200b\u200d\ufeff\u2060b", "separators": "a\u2028b\u2029c\x0b\x0c\x1c\x1d\x1e", "halves": "\ud800 \udcff \udfff\ud800",
    "no characters": "\ufffe\uffff\U0010ffff", "selectors": "a\ufe0fb\U000e0100\U000e0041", "fillers": "\u3164\uffa0\u115f",
    "marks": "e\u0301\u0489x\u20dd", "wide": "日本 ｆｕｌｌ 😀", "right to left": "שלום",
    "markup": "[red]x[/red] [link=http://x]y[/link] :smile:", "brackets": "[a](http://x) {0} "
    "{{1}} [b](2)", "a formula": "=1+1",
    "plus": "+1", "minus": "-2+3", "at": "@SUM(A1)", "wide formula": "＝1＋1", "small at": "﹫x", "behind blanks": "  =1",
    "behind quotes": "'\"=1", "behind an apostrophe": "'=1", "behind a tab": "\t=1", "behind a "
    "line": "\n=1",
    "behind a semicolon": "a;=cmd|'/C calc'!A0", "a command": "::error file=x::gone", "a mask": " "
    " ::add-mask::a",
    "a second line": "x\n::set-output name=a::b", "old": "x ##[add-mask]y", "Azure's": "##vso[task.setvariable variable=a]b",
    "TeamCity's": "##teamcity[x]", "percents": "%0A::error::x%25%", "properties": "a,b:c=d",
    "Markdown": "|a\\|b`c``d` **e** <b>x</b> ![i](u) @name #1 &amp; https://x", "pipes": "\\", "ticks": "`",
    "XML": "<a b='c' d=\"e\">]]>&lt;&#0;<!-- -->", "LaTeX": "\\input{/etc/passwd}\\write18{x}$ & "
    "# % _ ^ ~ {}",
    "endings": "\\end{align*}%^^M", "braces": "}{", "CSV": 'a,"b";c', "JSON": '{"a": "\\u0000"}', "a path": "../a b#c?d%20é\n",
    "absolute": "/x:y//z", "a drive": "C:\\x", "a scheme": "javascript:alert(1)", "Python's": "\\x1b\\u202e",
}  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(list(HOSTILE.values())) | st.text(st.characters(), max_size=6), max_size=3
).map("".join)
anything = settings(
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=list(HealthCheck),
)
