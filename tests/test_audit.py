"""The audit says what was compared, and does not look like success where nothing was."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
WEAK = {"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_auditor(folder: Path, answer: str, complaint: str = "", code: int = 0) -> str:
    """A program in the place of pip-audit."""
    path = folder / "pip-audit"
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"print({answer!r})\nprint({complaint!r}, file=sys.stderr)\nsys.exit({code})\n"
    )
    path.chmod(0o755)
    return str(path)


def format_answer(*dependencies: dict[str, Any]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "requests.exceptions.ConnectionError: Max retries exceeded"),
        ("", "Name or service not known"),
        ("", ""),
        ("<html>", "a proxy answered"),
        (format_answer(), ""),
    ],
)
def test_where_nothing_was_compared_it_is_no_success(
    tmp_path: Path, answer: str, complaint: str
) -> None:
    for code in (0, 1):
        script = load_script()
        found, lines = script.compare(make_auditor(tmp_path, answer, complaint, code))
        assert found == script.NOTHING_COMPARED != 0
        assert lines[-1].startswith("NOTHING WAS COMPARED: no database of weaknesses answered")
        assert complaint in lines[-1]


def test_an_auditor_that_knows_no_package_is_not_believed(tmp_path: Path) -> None:
    answer = format_answer({"name": "a", "skip_reason": "not found"})
    script = load_script()
    found, lines = script.compare(make_auditor(tmp_path, answer, "No known vulnerabilities found"))
    assert found == script.NOTHING_COMPARED
    assert "it knows none of 1 packages" in lines[-1]


def test_without_the_program_it_is_no_success_and_the_components_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "find_auditor", lambda: None)
    assert script.main() == script.NOTHING_COMPARED
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("sbom.json: ")
    assert last.startswith("NOTHING WAS COMPARED: pip-audit is not installed; pip install")
    assert json.loads((tmp_path / "sbom.json").read_text())["components"]


def test_weaknesses_are_named_and_counted(tmp_path: Path) -> None:
    script = load_script()
    good: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
    weak = {"name": "b", "version": "1.0", "vulns": [WEAK]}
    unknown = {"name": "c", "skip_reason": "not found"}
    assert script.compare(make_auditor(tmp_path, format_answer(good, unknown))) == (
        script.NOTHING_KNOWN,
        ["not in the database: c", "1 packages compared, 0 with known weaknesses"],
    )
    assert script.compare(make_auditor(tmp_path, format_answer(good, weak), code=1)) == (
        script.WEAK,
        ["b 1.0: CVE-1, mended in 1.1, 2.0", "2 packages compared, 1 with known weaknesses"],
    )
