"""The pages are true: their code runs, prints what they show, and their links lead somewhere."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from nacre.advice import config as advice_config
from nacre.advice import pipeline
from nacre.advice.config import AdviceConfig, suggest_config
from nacre.costs import build_cost, parse_cost
from nacre.errors import InputError
from nacre.experiments.summary import Summary
from nacre.experiments.tables import TABLES
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.policies import CloneConfig
from nacre.policies.cloning import fitting as cloning
from nacre.policies.cloning import log_cloning
from tests.support.experiments import make_record

ROOT = Path(__file__).resolve().parent.parent


def _load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


refresh_docs = _load_script("refresh_docs")
PAGES = refresh_docs.find_pages()
REFERENCE = sorted((ROOT / "docs" / "api").glob("*.md"))
TEXTS = [*PAGES, *REFERENCE, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]

# A cost to which a single table of a cost.toml can be added, whichever it is.
WHOLE = {"kind": "general", "learning_weight": 5.0, "groups": {"kind": "sign"}}

MACHINE_PATH = re.compile(
    r"(?<![\w.…/-])/(home|root|tmp|work|usr|opt|mnt|var|etc|Users|private|workspace)(/|\b)"
    r"|\b[A-Z]:\\"
)


def _page(name: str) -> Path:
    return ROOT / "docs" / f"{name}.md"


def _blocks(page: Path, language: str) -> list[str]:
    blocks = refresh_docs.find_blocks(page.read_text(encoding="utf-8"))
    return [block.text for block in blocks if block.language == language]


def _prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.fixture
def quick_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice without learning: nothing that pages show depends on what is learned."""

    def suggest_less(log: Log, discount: float = 0.99) -> AdviceConfig:
        return dataclasses.replace(suggest_config(log, discount), learners=(ScaleNoise(),))

    for module in (advice_config, pipeline):
        monkeypatch.setattr(module, "suggest_config", suggest_less)
    for module in (cloning, log_cloning):
        monkeypatch.setattr(module, "CloneConfig", functools.partial(CloneConfig, n_steps=200))


@pytest.mark.usefixtures("quick_advice")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_what_its_code_prints(page: Path) -> None:
    for output in refresh_docs.run_page(page):
        assert output.agrees, (
            f"{page.name}, line {output.start + 1}: the page shows\n{output.shown}\n"
            f"where its code prints\n{output.printed}\nrun scripts/refresh_docs.py"
        )


COST_TABLES = [text for name in ("costs", "cost_examples") for text in _blocks(_page(name), "toml")]


@pytest.mark.parametrize("text", COST_TABLES, ids=range(len(COST_TABLES)))
def test_toml_of_the_cost_pages_is_a_cost(text: str) -> None:
    document = tomllib.loads(text)
    cost = parse_cost(text) if "kind" in document else build_cost(WHOLE | document)
    assert cost.learning_weight >= cost.transaction_weight


def test_the_cost_pages_have_every_kind_of_every_table() -> None:
    documents = [tomllib.loads(text) for text in COST_TABLES]
    kinds = {document.get("kind") for document in documents}
    groups = {document.get("groups", {}).get("kind") for document in documents}
    states = {document.get("states", {}).get("measure") for document in documents}
    assert kinds >= {"transport", "general", "difference", "local", "global"}
    assert groups >= {"sign", "thresholds", "boxes", "indices", "halves"}
    assert states >= {"log", "box", "finite", "given"}


def test_the_page_of_advice_shows_a_configuration(tmp_path: Path) -> None:
    (text,) = _blocks(_page("advice"), "toml")
    path = tmp_path / "advice.toml"
    path.write_text(text, encoding="utf-8")
    config = AdviceConfig.from_toml(path)
    assert [one.name for one in config.learners] == ["nac-0.1", "noise-0.3"]
    assert [one.name for one in config.estimators] == ["fitted_q"]
    path.write_text(text.replace("kl_weight", "kl_wait").replace("= 12", "= 'many'"))
    with pytest.raises(InputError) as caught:
        AdviceConfig.from_toml(path)
    said = [problem.replace(str(path), path.name) for problem in caught.value.problems]
    assert "\n".join(said) in _page("advice").read_text(encoding="utf-8")


def test_the_whole_decision_fits_into_600_words() -> None:
    text = (ROOT / "docs" / "advice.md").read_text("utf-8")
    section = text.split("## How the decision is made")[1].split("\n## ")[0]
    assert sum(bool(re.search(r"\w", word)) for word in section.split()) <= 600


def test_the_page_of_the_tables_names_every_field() -> None:
    named = set(re.findall(r"`(\w+)`", _prose(_page("reproduce"))))
    for table in TABLES:
        for path in (ROOT / "results" / table).glob("*.jsonl"):
            for line in path.read_text().splitlines():
                assert set(json.loads(line)) <= named, path
    row = TABLES["sumo"][0]
    summary = Summary.from_records(row, "paper", [make_record(4, 1.0)])
    assert {*summary.as_json(), "ablation"} <= named


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.is_file(), f"{page.name}: {target} leads nowhere"
        if anchor:
            assert anchor in _anchors(linked), f"{page.name}: {target} has no such heading"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _prose(page), flags=re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading).lower() for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_page_names_no_place_on_a_machine(page: Path) -> None:
    found = MACHINE_PATH.search(page.read_text(encoding="utf-8"))
    assert found is None, f"{page.name}: {found}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for name in re.findall(r"\]\(([^)#\s]+\.md)", _prose(page)):
            linked = (page.parent / name).resolve()
            if linked.is_file() and linked not in reached:
                waiting.append(linked)
    assert set(TEXTS) <= reached


def _written_texts() -> list[str]:
    """Every text in the code of logs, with … where a value goes in."""
    texts = []
    for module in sorted((ROOT / "src" / "nacre" / "logs").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
                texts.append("".join(str(part) for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def _listed_messages() -> list[str]:
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| `([^`]+)` \|", page.partition("## Messages that need a word")[2], flags=re.M
    )
    assert len(listed) > 40
    return listed


@pytest.mark.parametrize("message", _listed_messages())
def test_messages_of_the_log_page_exist(message: str) -> None:
    parts = [re.escape(part.strip()) for part in message.split("…") if part.strip()]
    pattern = re.compile(".*".join(parts), flags=re.S)
    assert any(pattern.search(text) for text in _written_texts())
