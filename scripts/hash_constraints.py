"""Write the digests of the tested packages, for those who install nothing else.

    python scripts/hash_constraints.py

Asks pip which file it would take for each line of `constraints.txt` on this machine, and writes
`constraints-hashed.txt` with the SHA-256 of each. Where files come from is not written.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

TESTED = Path("constraints.txt")
HASHED = Path("constraints-hashed.txt")
HEAD = """# SHA-256 of the files that nacre is tested with, on {place}.
#   pip install --require-hashes --no-deps -r constraints-hashed.txt
#   pip install --no-deps nacre
"""


def find_hashes(requirements: Path) -> dict[str, str]:
    """The SHA-256 of each package's file, by name and version."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        asked = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        asked += ["--no-deps", "--quiet", "--report", str(report), "-r", str(requirements)]
        subprocess.run(asked, check=True)  # noqa: S603 - pip itself
        found = json.loads(report.read_bytes())["install"]
    return {
        f"{one['metadata']['name']}=={one['metadata']['version']}": one["download_info"][
            "archive_info"
        ]["hashes"]["sha256"]
        for one in found
    }


def main() -> None:
    """Write the file anew."""
    hashes = find_hashes(TESTED)
    version = ".".join(platform.python_version_tuple()[:2])
    place = f"{platform.system()} {platform.machine()}, Python {version}"
    lines = [f"{name} \\\n    --hash=sha256:{digest}\n" for name, digest in sorted(hashes.items())]
    HASHED.write_text(HEAD.format(place=place) + "".join(lines), encoding="utf-8")
    print(f"{HASHED}: {len(hashes)} packages")


if __name__ == "__main__":
    main()
