"""The browser that opens pages in tests; run as a module it says in one line if there is none."""

from __future__ import annotations

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = (
    "The page was not tested in a browser: install Debian's package chromium, or name one in "
    "CHROMIUM."
)
NEEDED = "NACRE_NEED_BROWSER"
"""Set to 1 where tests without a browser have to fail instead of being skipped."""


def find_chromium() -> str | None:
    """Its path, or nothing."""
    given = os.environ.get("CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


def is_needed() -> bool:
    """Whether no test may be skipped for want of a browser."""
    return os.environ.get(NEEDED) == "1"


if __name__ == "__main__" and find_chromium() is None:
    sys.stdout.write(f"{MISSING}\n")
