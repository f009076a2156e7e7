"""What importing the package does."""

import os
import subprocess
import sys

import pytest

FLAG = "--xla_cpu_multi_thread_eigen"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", f"{FLAG}=false"),
        ("--xla_dump_to=x", f"--xla_dump_to=x {FLAG}=false"),
        (f"{FLAG}=true", f"{FLAG}=true"),
    ],
)
def test_a_task_has_one_thread_unless_the_user_says_otherwise(given: str, expected: str) -> None:
    program = "import os, nacre; print(os.environ['XLA_FLAGS'])"
    found = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env=os.environ | {"XLA_FLAGS": given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == expected
