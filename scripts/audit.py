"""Compare the tested versions with known weaknesses, and list the components.

    python scripts/audit.py

Needs `pip-audit` and a database that can be reached; says so where one is missing. The list of
components is written in any case.
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
UNREACHABLE = (
    "ConnectionError",
    "Max retries",
    "Name or service",
    "timed out",
    "Temporary failure",
)


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


def main() -> int:
    """0 if nothing is known or nothing can be asked, 1 if there are weaknesses."""
    document = list_components()
    SBOM.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{SBOM}: {len(document['components'])} components")
    command = shutil.which("pip-audit")
    if command is None:
        print("not audited: pip-audit is not installed; pip install pip-audit")
        return 0
    asked = [command, "--requirement", "constraints.txt", "--no-deps", "--disable-pip"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode and any(text in done.stderr for text in UNREACHABLE):
        print("not audited: no database of weaknesses can be reached from here")
        return 0
    print(done.stdout + done.stderr)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
