"""Compare the tested versions with known weaknesses, and list the components.

    python scripts/audit.py

Needs `pip-audit` and a database that can be reached. Where one is missing nothing is compared: that
is said last and in capitals, and is no success. The list of components is written in any case.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SBOM = Path("sbom.json")
CONSTRAINTS = Path("constraints.txt")
INSTALL = "pip install pip-audit, then run this again"
NOTHING_KNOWN, WEAK, NOTHING_COMPARED = 0, 1, 2
"""Exit codes."""


def list_components() -> dict[str, Any]:
    """All installed packages in the form of CycloneDX."""
    found = {
        (one.metadata["Name"], one.version): one.metadata.json.get("license_expression", "")
        for one in importlib.metadata.distributions()
        if one.metadata["Name"]
    }
    components = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
            **({"licenses": [{"expression": licence}]} if licence else {}),
        }
        for (name, version), licence in sorted(found.items())
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


def find_auditor() -> str | None:
    """The program beside this Python, else the one on the path."""
    beside = Path(sys.executable).with_name("pip-audit")
    return str(beside) if beside.is_file() else shutil.which("pip-audit")


def compare(auditor: str | None) -> tuple[int, list[str]]:
    """An exit code, and lines that say what was compared and what is known."""
    if auditor is None:
        return NOTHING_COMPARED, [f"NOTHING WAS COMPARED: pip-audit is not installed; {INSTALL}"]
    options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(  # noqa: S603 - the program that was found
        [auditor, "--requirement", str(CONSTRAINTS), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        found = []
    compared = [one for one in found if "vulns" in one]
    if not compared:
        # Where it finds no package at all, it says that none has a weakness.
        asked = f"it knows none of {len(found)} packages" if found else done.stderr
        reason = (asked.strip().splitlines() or ["pip-audit says nothing"])[-1]
        return NOTHING_COMPARED, [
            f"NOTHING WAS COMPARED: no database of weaknesses answered ({reason[:200]}); run this "
            "again where one can be reached"
        ]
    lines = [
        f"{one['name']} {one['version']}: {weakness['id']}, mended in "
        f"{', '.join(weakness.get('fix_versions', [])) or 'no version yet'}"
        for one in compared
        for weakness in one["vulns"]
    ]
    left_out = [one["name"] for one in found if "vulns" not in one]
    if left_out:
        lines.append(f"not in the database: {', '.join(left_out)}")
    n_weak = sum(bool(one["vulns"]) for one in compared)
    lines.append(f"{len(compared)} packages compared, {n_weak} with known weaknesses")
    return (WEAK if n_weak else NOTHING_KNOWN), lines


def main() -> int:
    """0 if nothing is known, 1 if there are weaknesses, 2 if nothing could be compared."""
    document = list_components()
    SBOM.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{SBOM}: {len(document['components'])} components")
    code, lines = compare(find_auditor())
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
