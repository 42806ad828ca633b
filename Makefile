# `make run` and `make test` need nothing before them but a clone: each sets up what it needs.
SHELL := /bin/bash
# The first Python 3 that answers; a version manager's shim may not.
PYTHON ?= $(shell for p in python3 /usr/bin/python3 $$HOME/.pyenv/versions/3*/bin/python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1 && { echo $$p; break; }; done)
SETUP = $(if $(PYTHON),$(PYTHON) courseware/bootstrap.py,@echo "No Python 3 was found: install one (Debian and Ubuntu: apt-get install python3), then try again." >&2; false)
LIVE = $(PYTHON) courseware/bootstrap_live.py
VENV = .venv/bin
export PYTHONUNBUFFERED = 1

.PHONY: help run test check setup worker live-worker live test-live lock lock-live format
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */  make \1|/' | column -t -s '|'

run:  ## set up, then serve the course on http://127.0.0.1:8000 (PORT=… HOST=… REDIS_URL=… DATABASE_URL=…)
	@$(SETUP)
	@exec $(VENV)/python -m courseware.launch

test:  ## set up, then every check and every test, the browser's too
	@$(SETUP) --tests
	@$(MAKE) --no-print-directory check
	$(VENV)/pytest -n 2 --dist worksteal -m "not browser"
	$(VENV)/pytest -n 2 --dist loadfile -m browser

check:  ## formatting, types, templates, spelling, import rules, the course content, migrations
	@$(SETUP) --tests
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/djade --check $$(git ls-files --cached --others --exclude-standard 'templates/*.html')
	$(VENV)/codespell $$(git ls-files --cached --others --exclude-standard)
	$(VENV)/codespell --dictionary docs/british.txt $$(git ls-files --cached --others --exclude-standard '*.md' '*.html' 'lessons/content/glossary.toml' 'lessons/content/drills/*/drill.toml')
	$(VENV)/lint-imports
	$(VENV)/python manage.py check
	$(VENV)/python manage.py makemigrations --check --dry-run

setup:  ## only set up (.venv with everything, tests included)
	@$(SETUP) --tests

worker:  ## one more Celery worker beside a running `make run`
	@$(SETUP)
	@exec $(VENV)/celery -A courseware worker --concurrency 2 -O fair --loglevel INFO -n "extra-$$$$@%h"

live-worker:  ## make this machine a box of real engines, beside a running `make run`; `make live` comes first
	@$(SETUP)
	@exec $(VENV)/python manage.py live_worker

live:  ## set up an engine for this machine's processor: .venv-live (vLLM, 2.5 GB) and the models of the labs
	@$(SETUP)
	@$(LIVE)
	@echo "Ready: vLLM in .venv-live, models in .live/models. \`make test-live\` tests them."

# Status 3 says that pip finds no such torch: for a person an error, for CI nothing to run.
test-live:  ## set that up, then test the labs on a real engine
	@$(SETUP) --tests
	@$(LIVE); case "$$?$$CI" in \
		0*) exec $(VENV)/pytest --live tests/live ;; \
		3?*) echo "The tests on a real engine were skipped." ;; \
		*) exit 1 ;; esac

format:  ## let ruff and djade rewrite what they can
	@$(SETUP) --tests
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .
	$(VENV)/djade $$(git ls-files --cached --others --exclude-standard 'templates/*.html')

lock:  ## pin requirements*.in anew (UPGRADE=1: to the newest versions)
	@$(SETUP)
	for name in requirements requirements-dev; do $(firstword $(wildcard .bootstrap/*/bin/uv)) pip compile --quiet --universal \
		--python-version 3.12 --python $(VENV)/python --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		$(if $(UPGRADE),--upgrade) $$name.in --output-file $$name.txt || exit 1; done

lock-live:  ## pin requirements-live.in anew, with the torch that pip finds (UPGRADE=1: to the newest versions)
	@$(SETUP)
	@$(LIVE) --lock
