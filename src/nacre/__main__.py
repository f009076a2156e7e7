"""`python -m nacre` is `nacre`."""

from nacre.cli.app import run

if __name__ == "__main__":
    run()
