# Everything runs in .venv, made once from pyproject.toml and constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test validate lint bench docs format audit clean

demo: $(STAMP)
	$(BIN)/nacre demo --out advice --force

# Counting lines takes half as long again as the tests themselves: only those tests are counted that
# are about the four rooms where nearly every line has to be tested.
COVERED := costs estimators training logs
COUNTED := $(addprefix tests/,$(COVERED) cli)
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test: $(STAMP)
	$(PYTEST) tests $(addprefix --ignore=,$(COUNTED))
	@$(BIN)/python -m tests.support.browser
	$(PYTEST) $(COUNTED) --cov --cov-report=
	for part in $(COVERED); do \
	  $(BIN)/python -m coverage report --include="src/nacre/$$part/*" --fail-under=95 \
	    --skip-covered || exit 1; \
	done

validate: $(STAMP)
	XLA_FLAGS= NACRE_RECORD=results/validation $(BIN)/python -m pytest -n 2 --dist loadgroup tests/validation
	$(BIN)/python -m pytest -n 2 -m slow --ignore=tests/validation

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/nacre bench

# The variable silences an advertisement of the theme's next version.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

audit: $(STAMP)
	$(BIN)/python scripts/audit.py

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .coverage site
