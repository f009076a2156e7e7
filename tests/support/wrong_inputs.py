"""Wrong inputs as people give them, each with what its message says to do, done."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nacre.errors import InputError
from nacre.logs import read_log
from nacre.policies import CloneConfig, read_policy

HEAD = "age,region,offer,spent"
ROWS = ("30,north,none,1.5", "41,south,mail,2.0", "52,north,call,0.5", "63,south,none,1.0")
OFFERS = "\n".join([HEAD, *ROWS]) + "\n"
MAP: Mapping[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": ["age", "region"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["none", "mail", "call"]},
    "encode": {"region": "one_hot"},
}
COMMAS = re.sub(r"(\d)\.(\d)", r'"\1,\2"', OFFERS)
TOWNS = HEAD + "\n" + "".join(f"30,town {i % (1 + i // 4)},none,1\n" for i in range(999))
ROWS_OF_TOWNS = HEAD + "\n" + "".join(f"30,town {i},none,1\n" for i in range(200))
MASKED = "\n".join(
    [HEAD + ",allowed_none,allowed_mail,allowed_call", *(row + ",1,1,1" for row in ROWS)]
)
AMERICAN = OFFERS.replace("north", "1/31/2024 8:30 AM").replace("south", "2/1/2024 9:05 PM")
SHORT_YEARS = OFFERS.replace("north", "31/01/24").replace("south", "01/02/24")
EUROS = re.sub(r",(\d)\.(\d)\n", r',"\1.000,\2 €"\n', OFFERS)
MIXED = "age,drug,dose,gain\n30,A,1,1\n41,B,2,2\n52,A,2,3\n63,B,1,1\n"
MIXED_MAP: Mapping[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": ["age"],
    "action": ["drug", "dose"],
    "reward": "gain",
}
STATES = "state,act,gain,allowed_0,allowed_1\n0,0,1,1,1\n1,1,2,0,1\n0,0,3,1,0\n"
STATES_MAP: Mapping[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": "state",
    "reward": "gain",
}
ANSWERS = re.sub(r",\d\.\d\n", lambda match: ",yes\n" if "0" in match[0] else ",no\n", OFFERS)
CHANCES = "\n".join([HEAD + ",pscore", *(row[:-1] + "1,0.5" for row in ROWS)]) + "\n"
VISITS = """patient,visit,pressure,dose,wellbeing,terminated
a,0,150,0,1.0,false
a,1,140,1,0.5,true
b,0,160,1,0.2,false
b,1,155,0,0.1,true
"""
VISITS_MAP: Mapping[str, Any] = {
    "episode": "patient",
    "step": "visit",
    "observation": ["pressure"],
    "action": "dose",
    "reward": "wellbeing",
}
RULE = "[[rule]]\nwhen = { age = { below = 40 } }\naction = 1\n\n[otherwise]\naction = 0\n"


@dataclass(frozen=True)
class Given:
    """A table, its column map and, where it is about one, a policy.

    Attributes:
        files: Content by name; the log's is the first.
        columns: The map.
        policy: The file or word of a policy that is read with the log.
        log: The path of the log, if it is not the first file.
    """

    files: Mapping[str, str | bytes]
    columns: Mapping[str, Any] | str = field(default_factory=lambda: MAP)
    policy: str | None = None
    log: str | None = None

    def use(self, folder: Path) -> None:
        """Read it as a user would."""
        for name, content in self.files.items():
            path = folder / name
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        columns = folder / self.columns if isinstance(self.columns, str) else self.columns
        log = read_log(folder / (self.log or next(iter(self.files))), columns=columns)
        if self.policy is not None:
            source = str(folder / self.policy) if "." in self.policy else self.policy
            read_policy(source, log=log, clone=CloneConfig(hidden=(4,), n_steps=20))


@dataclass(frozen=True)
class Case:
    """Something wrong, and the same after its message was followed.

    Attributes:
        title: What is wrong, in a few words.
        given: What was given.
        followed: What is given then.
    """

    title: str
    given: Given
    followed: Given


def _offers(**changes: Any) -> Given:
    """The offers with a changed file (`text`), name, and entries of the map; None removes one."""
    text = changes.pop("text", OFFERS)
    name = changes.pop("name", "log.csv")
    policy = changes.pop("policy", None)
    return Given({name: text}, _change(MAP, changes), policy)


def _visits(text: str = VISITS, **changes: Any) -> Given:
    return Given({"log.csv": text}, _change(VISITS_MAP, changes))


def _change(columns: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    changed = {**columns, **changes}
    return {key: value for key, value in changed.items() if value is not None}


def _swap(old: str, new: str, text: str = OFFERS) -> str:
    assert old in text
    return text.replace(old, new)


def _rule(text: str) -> Given:
    return Given({"log.csv": OFFERS, "rule.toml": text}, MAP, "rule.toml")


_UNNAMED: dict[str, Any] = {"reward": None, "observation": ["region"]}
_NAMED: dict[str, Any] = {"reward": "Rewards", "observation": ["region"]}
_AGE = _offers(observation=["age"], encode=None)
GOOD = _offers()
GOOD_VISITS = _visits()

FILES = [
    Case("the file is not there", replace(GOOD, log="logs.csv"), GOOD),
    Case("the file is empty", _offers(text=""), GOOD),
    Case("a folder without a log", Given({"log.txt": OFFERS}, MAP, log="."), GOOD),
    Case(
        "files of a folder with different columns",
        Given({"may.csv": OFFERS, "june.csv": OFFERS.replace("age", "years")}, MAP, log="."),
        Given({"may.csv": OFFERS, "june.csv": OFFERS}, MAP, log="."),
    ),
    Case("an ending that is not known", _offers(name="log.xlsx"), GOOD),
    Case("a pickle", _offers(name="log.pkl"), GOOD),
    Case("an archive", _offers(name="log.zip"), GOOD),
    Case("only the column names", _offers(text=HEAD + "\n"), GOOD),
    Case("a row with too many entries", _offers(text=_swap("north,none", "north,none,7")), GOOD),
    Case(
        "a euro sign of Windows",
        _offers(text=_swap("1.5", "1.5 €").encode("cp1252")),
        _offers(
            text=_swap("1.5", "1.5 €").encode("cp1252"),
            text_encoding="cp1252",
            unit={"spent": "€"},
        ),
    ),
    Case(
        "Latin-1, read as UTF-8",
        _offers(text=_swap("north", "Köln").encode("latin-1")),
        _offers(text=_swap("north", "Köln").encode("latin-1"), text_encoding="latin-1"),
    ),
    Case("a column twice", _offers(text=_swap("region", "age")), GOOD),
    Case(
        "not Parquet, although it is called so",
        Given({"log.parquet": OFFERS}, MAP),
        GOOD,
    ),
    Case(
        "compressed, although it is not called so",
        _offers(text=gzip.compress(OFFERS.encode(), mtime=0)),
        _offers(text=gzip.compress(OFFERS.encode(), mtime=0), name="log.csv.gz"),
    ),
    Case("a spreadsheet that was called .csv", _offers(text=b"PK\x03\x04\x14\x00\xff\n"), GOOD),
    Case("JSON", _offers(name="log.json", text="[]"), GOOD),
]
MAPS = [
    Case("a key that is not known", _offers(rewrad="spent"), GOOD),
    Case("a column that is not there", _offers(reward="earned"), GOOD),
    Case("labels that are no list", _offers(labels={"action": "none"}), GOOD),
    Case("the same label twice", _offers(labels={"action": ["none", "none", "mail"]}), GOOD),
    Case("an encoding that is not known", _offers(encode={"region": "onehot"}), GOOD),
    Case(
        "a way to fill that is not known",
        _offers(missing={"age": "average"}),
        _offers(missing={"age": "mean"}),
    ),
    Case("a period that is not known", _visits(period="year"), GOOD_VISITS),
    Case("a decimal sign that is not known", _offers(decimal=";"), _offers(decimal=".")),
    Case(
        "one sign for two things",
        _offers(separator=",", decimal=","),
        _offers(separator=",", decimal="."),
    ),
    Case("an encoding of text that is not known", _offers(text_encoding="latin1x"), GOOD),
    Case("done and terminated", _visits(done="terminated", terminated="terminated"), GOOD_VISITS),
    Case(
        "less is better, said in words",
        _offers(lower_is_better="yes"),
        _offers(lower_is_better=True),
    ),
    Case("rare without a number", _offers(rare={"region": "few"}), _offers(rare={"region": 2})),
    Case("a column in other letters", _offers(reward="Spent"), GOOD),
    Case("two columns in one text", _offers(observation="age, region"), GOOD),
    Case(
        "an entry about a column that is not there",
        _offers(missing={"regoin": "category"}),
        _offers(missing={"region": "category"}),
    ),
    Case("one entry for all columns", _offers(missing="drop"), _offers(missing={"age": "drop"})),
    Case("a separator of two signs", _offers(separator="::"), GOOD),
    Case(
        "a map that is not TOML",
        Given({"log.csv": OFFERS, "map.toml": "reward: spent"}, "map.toml"),
        GOOD,
    ),
    Case(
        "a map that is not there",
        Given({"log.csv": OFFERS}, "map.toml"),
        GOOD,
    ),
]
COLUMNS = [
    Case("no column of episodes, no ends", _offers(episode=None, terminated=None), GOOD),
    Case("no column of episodes, an end in every row", _offers(episode=None), GOOD),
    Case("no column of rewards", _offers(reward=None), GOOD),
    Case("no column of actions", _offers(action=None, labels=None), GOOD),
    Case("no column of observations", _offers(observation=None), GOOD),
    Case(
        "two columns that could be the reward",
        _offers(text=_swap("age,", "rew,").replace("spent", "Rewards"), **_UNNAMED),
        _offers(text=_swap("age,", "rew,").replace("spent", "Rewards"), **_NAMED),
    ),
    Case(
        "numbered columns with a gap",
        _offers(text=_swap("age,region", "x_0,x_2"), observation="x", encode={"x_2": "one_hot"}),
        _offers(text=_swap("age,region", "x_0,x_1"), observation="x", encode={"x_1": "one_hot"}),
    ),
    Case("the action among the observations", _offers(observation=["age", "offer"]), _AGE),
    Case("the reward among the observations", _offers(observation=["age", "spent"]), _AGE),
    Case("a text among the observations", _offers(encode=None), GOOD),
    Case(
        "labels for several columns at once",
        _offers(labels={"action": ["none", "mail", "call"], "observation": ["a", "b"]}),
        GOOD,
    ),
    Case(
        "an order of texts that nobody knows",
        _offers(encode={"region": "ordinal"}),
        _offers(
            encode={"region": "ordinal"}, labels={**MAP["labels"], "region": ["north", "south"]}
        ),
    ),
    Case(
        "an action that has no label",
        _offers(text=_swap("call", "visit")),
        _offers(text=_swap("call", "visit"), labels={"action": ["none", "mail", "call", "visit"]}),
    ),
    Case(
        "a text as an action without labels",
        _offers(labels=None),
        GOOD,
    ),
    Case(
        "two ones in a row of marks",
        _offers(
            text="age,a,b,spent\n30,1,1,2\n40,0,1,1\n",
            **{"observation": ["age"], "action": ["a", "b"], "labels": None},
            encode={"action": "from_one_hot"},
        ),
        _offers(
            text="age,a,b,spent\n30,1,0,2\n40,0,1,1\n",
            **{"observation": ["age"], "action": ["a", "b"], "labels": None},
            encode={"action": "from_one_hot"},
        ),
    ),
    Case(
        "too many categories",
        _offers(text=TOWNS),
        _offers(text=TOWNS, rare={"region": 5}),
    ),
    Case(
        "as many categories as rows",
        _offers(text=ROWS_OF_TOWNS),
        _offers(text=ROWS_OF_TOWNS, observation=["age"], encode=None, ignore=["region"]),
    ),
    Case(
        "a text among several columns of the action",
        Given({"log.csv": MIXED}, MIXED_MAP),
        Given({"log.csv": MIXED}, {**MIXED_MAP, "labels": {"drug": ["A", "B"]}}),
    ),
    Case(
        "a mask without one of the actions",
        _offers(text=MASKED.replace("allowed_call", "call_allowed")),
        _offers(text=MASKED),
    ),
    Case(
        "an action that was not allowed",
        _offers(text=_swap("1.5,1,1,1", "1.5,0,1,1", MASKED)),
        _offers(text=MASKED),
    ),
    Case(
        "a numbered state that allows now this, now that",
        Given({"log.csv": STATES}, STATES_MAP),
        Given({"log.csv": STATES}, {**STATES_MAP, "encode": {"state": "one_hot"}}),
    ),
]
VALUES = [
    Case(
        "units below the names",
        _offers(text=_swap("30,north", "years,,,EUR\n30,north")),
        _offers(
            text=_swap("30,north", "years,,,EUR\n30,north"),
            missing_values=["years", "EUR"],
            missing=dict.fromkeys(("age", "region", "offer", "spent"), "drop"),
        ),
    ),
    Case(
        "a sum in the last row",
        _offers(text=OFFERS + "Total,,,6.0\n"),
        _offers(
            text=OFFERS + "Total,,,6.0\n",
            missing_values=["Total"],
            missing=dict.fromkeys(("age", "region", "offer"), "drop"),
        ),
    ),
    Case(
        "labels that differ only in case",
        _offers(text=_swap("mail", "None"), labels=None),
        _offers(labels={"action": ["none", "mail", "call"]}),
    ),
    Case(
        "vectors written as text",
        _offers(text=OFFERS.replace("north", '"[1, 2]"').replace("south", '"[0, 1]"'), encode=None),
        _offers(
            text=OFFERS.replace("region", "region_0,region_1")
            .replace("north", "1,2")
            .replace("south", "0,1"),
            observation=["age", "region_0", "region_1"],
            encode=None,
        ),
    ),
    Case(
        "a missing number",
        _offers(text=_swap("30,", ",")),
        _offers(text=_swap("30,", ","), missing={"age": "median"}),
    ),
    Case(
        "a missing category",
        _offers(text=_swap("30,north", "30,")),
        _offers(text=_swap("30,north", "30,"), missing={"region": "category"}),
    ),
    Case(
        "a missing action",
        _offers(text=_swap("none,1.5", ",1.5")),
        _offers(text=_swap("none,1.5", ",1.5"), missing={"offer": "drop"}),
    ),
    Case(
        "a missing reward",
        _offers(text=_swap("none,1.5", "none,")),
        _offers(text=_swap("none,1.5", "none,"), missing={"spent": "drop"}),
    ),
    Case(
        "a reward that is filled in",
        _offers(text=_swap("none,1.5", "none,"), missing={"spent": "mean"}),
        _offers(text=_swap("none,1.5", "none,"), missing={"spent": "drop"}),
    ),
    Case(
        "every episode misses something",
        _offers(text=HEAD + "\n,north,none,1\n,south,mail,2\n", missing={"age": "drop"}),
        _offers(text=HEAD + "\n,north,none,1\n,south,mail,2\n", missing={"age": "median"}),
    ),
    Case(
        "dollars",
        _offers(text=_swap(",1.5", ",$1.5")),
        _offers(text=_swap(",1.5", ",$1.5"), unit={"spent": "$"}),
    ),
    Case(
        "per cent",
        _offers(text=_swap("30,", "30 %,")),
        _offers(text=_swap("30,", "30 %,"), unit={"age": "%"}),
    ),
    Case(
        "a decimal comma",
        _offers(text=COMMAS),
        _offers(text=COMMAS, decimal=","),
    ),
    Case(
        "euros with points between the thousands",
        _offers(text=EUROS),
        _offers(text=EUROS, unit={"spent": "€"}, decimal=",", thousands="."),
    ),
    Case(
        "a word among numbers",
        _offers(text=_swap("30,", "unknown,")),
        _offers(
            text=_swap("30,", "unknown,"), missing_values=["unknown"], missing={"age": "median"}
        ),
    ),
    Case("an infinite reward", _offers(text=_swap(",1.5", ",inf")), GOOD),
    Case(
        "a time that is no time",
        _offers(observation=["age"], order="region", encode=None),
        _offers(observation=["age"], encode=None, ignore=["region"]),
    ),
    Case(
        "days before months",
        _offers(
            text=_swap("north", "31.01.2024").replace("south", "01.02.2024"),
            encode={"region": "date"},
        ),
        _offers(
            text=_swap("north", "31.01.2024").replace("south", "01.02.2024"),
            encode={"region": "date"},
            time_format={"region": "%d.%m.%Y"},
        ),
    ),
    Case(
        "times with AM and PM",
        _offers(text=AMERICAN, encode={"region": "time"}),
        _offers(
            text=AMERICAN, encode={"region": "time"}, time_format={"region": "%m/%d/%Y %I:%M %p"}
        ),
    ),
    Case(
        "years of two digits",
        _offers(text=SHORT_YEARS, encode={"region": "date"}, time_format={"region": "%d/%m/%Y"}),
        _offers(text=SHORT_YEARS, encode={"region": "date"}, time_format={"region": "%d/%m/%y"}),
    ),
    Case(
        "a total in the last row",
        _offers(text=OFFERS + "Total,,,5.0\n"),
        _offers(
            text=OFFERS + "Total,,,5.0\n",
            missing_values=["Total"],
            missing={"age": "drop", "region": "drop", "offer": "drop"},
        ),
    ),
    Case(
        "yes and no as rewards",
        _offers(text=ANSWERS),
        _offers(text=ANSWERS, labels={**MAP["labels"], "reward": ["no", "yes"]}),
    ),
    Case(
        "probabilities in per cent",
        _offers(text=CHANCES.replace("0.5", "50")),
        _offers(text=CHANCES.replace("0.5", "50"), unit={"pscore": "%"}),
    ),
    Case(
        "probabilities with their sign",
        _offers(text=CHANCES.replace("0.5", "50%")),
        _offers(text=CHANCES.replace("0.5", "50%"), unit={"pscore": "%"}),
    ),
    Case(
        "a flag that is neither true nor false", _visits(VISITS.replace("true", "2")), GOOD_VISITS
    ),
    Case("an end in the middle", _visits(VISITS.replace("false", "true", 1)), GOOD_VISITS),
    Case("a step twice", _visits(VISITS.replace("a,1,", "a,0,")), GOOD_VISITS),
    Case("a step left out", _visits(VISITS.replace("a,1,", "a,3,")), GOOD_VISITS),
    Case(
        "an action that is no whole number",
        _visits(VISITS.replace("150,0,", "150,0.5,"), labels={"action": [0, 1]}),
        GOOD_VISITS,
    ),
    Case(
        "a probability of zero",
        _offers(
            text=_swap(HEAD, HEAD + ",pscore")
            .replace("\n4", ",0.5\n4")
            .replace("2.0\n", "2.0,0\n")
            .replace("0.5\n6", "0.5,1\n6")
            .replace("1.0\n", "1.0,1\n")
        ),
        _offers(
            text=_swap(HEAD, HEAD + ",pscore")
            .replace("\n4", ",0.5\n4")
            .replace("2.0\n", "2.0,0.5\n")
            .replace("0.5\n6", "0.5,1\n6")
            .replace("1.0\n", "1.0,1\n")
        ),
    ),
    Case(
        "one row for each episode that does not end",
        _offers(episode="age", observation=["region"], terminated=False),
        _offers(episode="age", observation=["region"], terminated=True),
    ),
]
POLICIES = [
    Case("a policy in a pickle", _offers(policy="old.pkl"), _offers(policy="clone")),
    Case("a policy in TorchScript", _offers(policy="old.pt"), _offers(policy="clone")),
    Case("a policy that is not there", _offers(policy="old.onnx"), _offers(policy="clone")),
    Case("a policy of an unknown kind", _offers(policy="old.docx"), _offers(policy="clone")),
    Case("columns that are not there", _offers(policy="columns"), _offers(policy="clone")),
    Case("a rule without otherwise", _rule(RULE.split("\n\n")[0]), _rule(RULE)),
    Case("a rule on a column that is not there", _rule(RULE.replace("age", "size")), _rule(RULE)),
    Case("a rule without a condition", _rule(RULE.replace("when", "if")), _rule(RULE)),
    Case("a rule with an unknown action", _rule(RULE.replace("= 1\n", "= 7\n")), _rule(RULE)),
    Case("a rule that is not TOML", _rule("if age < 40: 1"), _rule(RULE)),
]
CASES = (*FILES, *MAPS, *COLUMNS, *VALUES, *POLICIES)


def find_lines(case: Case, folder: Path) -> list[str]:
    """What is said of a case, without the folder; nothing if nothing is wrong."""
    try:
        case.given.use(folder)
    except InputError as error:
        return [
            line.replace(f"{folder}/", "").replace(str(folder), "logs") for line in error.problems
        ]
    return []


GROUPS = {
    "Files": FILES,
    "The column map": MAPS,
    "Columns": COLUMNS,
    "Values": VALUES,
    "Policies": POLICIES,
}
HEADING = """# Messages: what is wrong, and what to do

Every problem gets one line: file, place, what was found, and after a semicolon what to do. A
file's problems come at once, up to five rows of each kind, with exit code 2.

The first lines for %d wrong inputs follow. Tests check each remedy.
"""


def format_page() -> str:
    """The page of the documentation with all of them."""
    parts = [HEADING % len(CASES)]
    for title, cases in GROUPS.items():
        parts.append(f"## {title}\n\n| what is wrong | what nacre says |\n| --- | --- |")
        for case in cases:
            with TemporaryDirectory() as folder:
                line = find_lines(case, Path(folder))[0]
            shown = line.replace("|", "\\|").replace("`", "'")
            parts[-1] += f"\n| {case.title} | `{shown}` |"
    return "\n".join(parts[:1]) + "\n" + "\n\n".join(parts[1:]) + "\n"


if __name__ == "__main__":
    (Path(__file__).parents[2] / "docs" / "messages.md").write_text(format_page())
