# Two commands are enough on a fresh machine: `make demo`, then `make up`. Needs Python >= 3.11 (PYTHON=… chooses one);
# GNU make 3.81 and a POSIX shell suffice.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# The lock is made for Python 3.11; other versions resolve within the ranges of pyproject.toml.
comma := ,
LOCK = $(shell $(BIN)/python -c 'import sys; print("-c constraints.txt" * (sys.version_info[:2] == (3, 11)))')

# uv installs in a fifth of pip's time, so pip's first act is to install uv. Where uv cannot (it reads no pip.conf), pip does
# it all, from the first version that reads dependency groups.
UV = $(shell command -v uv || ls $(BIN)/uv 2>/dev/null)
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
MAKE_VENV = $(if $(shell command -v uv),uv venv --quiet $(VENV) $(if $(PYTHON),--python $(PYTHON)),$(if $(PYTHON),$(PYTHON),\
	$(error Slowwave needs Python 3.11 or later, and none was found on PATH. Install it, or name it: make PYTHON=/path/to/python3)) \
	-m venv $(VENV) && { $(PIP) install uv >/dev/null 2>&1 || true; })
BY_PIP = { $(BIN)/python -m ensurepip >/dev/null 2>&1; \
	$(PIP) install 'pip>=25.1' && $(PIP) install $(LOCK) $(1); }
install = $(if $(UV),$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python $(LOCK) $(1) || )$(BY_PIP)

CHECK = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright && $(BIN)/lint-imports

# Workers, and the programs that tests start, would each compile the tests and the library again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo up test test-fast test-deep test-scale test-stores check bench bench-before bench-grouped bench-snapshots bench-tiles bench-bloat bench-matching bench-pairs bench-graphs bench-mutants bench-memory bench-night bench-search bench-reminders bench-speakers bench-screening bench-dates bench-answers bench-decisions bench-model bench-maintenance bench-review bench-agents bench-stores chromium lock screenshots docs site dist clean

demo: $(VENV)/.installed ## load the demo, run a night for each of its namespaces, print what was found; VERBOSE=1 prints all that they say
	@$(BIN)/slowwave dev --prepare || true
	@$(BIN)/slowwave demo $(if $(VERBOSE),--verbose)

up: $(VENV)/.installed ## UI and daemon on http://127.0.0.1:3000; PORT=3001 takes another port, VERBOSE=1 shows what they log
	@$(BIN)/slowwave dev $(if $(PORT),--port $(PORT)) $(if $(VERBOSE),--verbose)

# While pyright has one core, the other compiles the tests, which each worker would otherwise do for itself.
test: chromium $(VENV)/.installed-dev ## everything that CI runs
	$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 & { $(CHECK); } || exit 1; wait
	$(BIN)/python -m pytest -n logical --dist worksteal

test-fast: $(VENV)/.installed-dev ## tests that need no database and take less than a second: the inner loop
	$(BIN)/python -m pytest -n logical --dist worksteal -m "not slow"

test-deep: $(VENV)/.installed-dev chromium ## the same properties with many more examples: takes its time
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n logical --dist worksteal --timeout=3600

test-scale: $(VENV)/.installed-dev ## workers that are killed, a broker that is restarted: up to 15 minutes; apt: redis-server, gcc
	$(BIN)/python -m pytest -m scale -rs --timeout=900 tests/scale

# Their packages do not stand beside ours, so each client has an environment of its own and runs as a process of its own.
APART := .venv-stores
# khora's client needs Python 3.13: pyenv's, else one on the PATH, else one that uv fetches.
KHORA_PYTHON ?= $(or $(lastword $(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python3.13)),3.13)

test-stores: $(VENV)/.installed-dev $(APART)/.installed ## plans on stores that Hindsight's, khora's and Letta's own code filled: 500 packages; KHORA_PYTHON=path
	$(BIN)/python -m pytest -rs --timeout=1200 tests/night/test_hindsights_client.py tests/night/test_khoras_client.py tests/night/test_lettas_server.py

apart = $(BIN)/uv venv --quiet --allow-existing --python $(2) $(APART)/$(1) && \
	$(BIN)/uv pip install --quiet --python $(APART)/$(1)/bin/python -r tests/bindings/apart/$(1).txt

$(APART)/.installed: $(wildcard tests/bindings/apart/*.txt) | $(VENV)/.installed-dev
	$(call apart,hindsight,$(BIN)/python)
	$(call apart,letta,$(BIN)/python)
	@if $(call apart,khora,$(KHORA_PYTHON)); then touch $@; else rm -rf $(APART)/khora; echo "khora's client is left out and its tests are \
	skipped: it needs Python 3.13, and uv found and fetched none. To run them: make test-stores KHORA_PYTHON=/path/to/python3.13"; fi

check: $(VENV)/.installed-dev ## lint, format, types, layers
	$(CHECK)

bench: $(VENV)/.installed-dev ## speed of each step of a night, beside khora's; SIZES="10000 50000", WRITE=1 writes the page
	$(BIN)/python -m benchmarks $(if $(SIZES),--sizes $(SIZES)) $(if $(WRITE),--write)

bench-before: $(VENV)/.installed ## an earlier commit's nights beside today's; BASE=commit, SIZES="10000 50000", NIGHTS=1 leaves out single steps, WRITE=1 writes the page
	$(BIN)/python -m benchmarks.before $(or $(BASE),c95e421) $(if $(SIZES),--sizes $(SIZES)) $(if $(NIGHTS),--nights) $(if $(WRITE),--write)

bench-grouped: $(VENV)/.installed ## nights of many small namespaces by the schedule; COUNTS="100 1000 5000" (an hour and a half), WRITE=1 writes the page
	$(BIN)/python -m benchmarks.grouped $(COUNTS) $(if $(WRITE),--write)

bench-snapshots: $(VENV)/.installed-dev ## a night with snapshots on S3 beside one with them in a folder, in CPU seconds
	$(BIN)/python -m benchmarks.shared_snapshots

bench-tiles: $(VENV)/.installed-dev ## the candidate search of a huge namespace in one process and in tiles; WRITE=1 writes the tables
	$(BIN)/python -m benchmarks.tiles $(if $(WRITE),--write)

bench-bloat: $(VENV)/.installed ## dead rows of each table after nights without autovacuum, and after a VACUUM; NIGHTS=number, by default 100
	$(BIN)/python -m benchmarks.bloat $(NIGHTS)

bench-matching: $(VENV)/.installed ## how good the merges are; DIR=folder adds labelled sets
	$(BIN)/python -m benchmarks.matching $(DIR)

bench-answers: $(VENV)/.installed ## what a hundred answers of a person do for merges; DIR=folder adds labelled sets, WRITE=1 writes the page
	$(BIN)/python -m benchmarks.answers $(DIR) $(if $(WRITE),--write)

bench-decisions: $(VENV)/.installed ## how often decisions without a question would be right, rule by rule; DIR=folder adds labelled sets, WRITE=1 writes the page
	$(BIN)/python -m benchmarks.decisions $(DIR) $(if $(WRITE),--write)

bench-model: $(VENV)/.installed-dev ## changes of fact that two models at SLOWWAVE_JUDGE_ENDPOINT find beside the rules, and drafts of the one at SLOWWAVE_WRITER_ENDPOINT, with tokens; DIR=folder, PAIRS, PRICE of a million tokens, TRIM=1 for a stub that repeats sentences
	$(BIN)/python -m benchmarks.model $(or $(DIR),../shared/data) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(PRICE),--price $(PRICE)) $(if $(TRIM),--trim)

bench-maintenance: $(VENV)/.installed-dev ## what a memory system does to facts that change, beside controls; DIR=folder adds labelled pairs, HISTORIES=number, WRITE=1 writes the page
	$(BIN)/python -m benchmarks.maintenance $(if $(DIR),--data $(DIR)) $(if $(HISTORIES),--histories $(HISTORIES)) $(if $(WRITE),--write)

bench-review: $(VENV)/.installed ## after how many answers merges are good, beside chance, uncertainty and the best order; DIR=folder adds labelled sets
	$(BIN)/python -m benchmarks.review_orders $(DIR)

bench-agents: $(VENV)/.installed-dev ## how fast agents put and find items, beside LangGraph's own store on Postgres
	$(BIN)/python -m benchmarks.agent_stores

bench-stores: $(VENV)/.installed-dev ## what nights cost and do in stores that are not ours: many users, and what Mem0's and LangGraph's clients find; WRITE=1
	$(BIN)/python -m benchmarks.stores $(DIR) $(if $(WRITE),--write)

bench-pairs: $(VENV)/.installed ## how fast all pairs of near vectors are found, beside a matrix product in blocks
	$(BIN)/python -m benchmarks.pairs

bench-memory: $(VENV)/.installed ## what the operations on memories do to tokens, specifics and recall, and cost; DIR=folder adds labelled sets
	$(BIN)/python -m benchmarks.memory_quality $(DIR) && $(BIN)/python -m benchmarks.memory_speed

bench-night: $(VENV)/.installed ## what a week of nights does to what an agent finds, beside doing nothing and dropping memories; DIR=folder, WRITE=1
	$(BIN)/python -m benchmarks.nights $(DIR) $(if $(WRITE),--write)

bench-search: $(VENV)/.installed-dev ## how well and how fast searches find, beside bm25s, pgvector and GIN; DATA=folder names other data
	$(BIN)/python -m benchmarks.search $(if $(DATA),--data $(DATA)) $(if $(WRITE),--write)

bench-reminders: $(VENV)/.installed ## how often reminders return the page that answers, and nothing for prompts about other topics
	$(BIN)/python -m benchmarks.reminders $(if $(DATA),--data $(DATA))

bench-speakers: $(VENV)/.installed ## how often searches find a message by the name of its speaker
	$(BIN)/python -m benchmarks.speakers $(if $(DATA),--data $(DATA))

bench-screening: $(VENV)/.installed ## secrets and orders to models that are found, and what is taken for one; DIR=folder adds public sets
	$(BIN)/python -m benchmarks.screening $(DIR)

bench-dates: $(VENV)/.installed ## relative dates that are written out rightly, wrongly or not at all; FILE=set adds one of duckling's form
	$(BIN)/python -m benchmarks.dates $(FILE)

bench-mutants: $(VENV)/.installed-dev ## a sample of small changes of code on which a plan's safety depends; MODULES=names, SAMPLE=number, SEED=number
	$(BIN)/python -m benchmarks.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(MODULES)

bench-graphs: $(VENV)/.installed-dev ## PageRank and communities of a million nodes, beside networkx
	$(BIN)/python -m benchmarks.graphs

# The browser test drives a Chromium of the system. Without one it says so: it fails in CI and is skipped elsewhere.
chromium:
	@for name in chromium chromium-browser google-chrome google-chrome-stable \
		'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' /Applications/Chromium.app/Contents/MacOS/Chromium; do \
		command -v "$$name" >/dev/null && exit 0; \
	done; \
	root=; [ "$$(id -u)" = 0 ] || root='sudo -n'; \
	if command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
		echo 'Installing Chromium for the browser test.'; \
		$$root apt-get update -qq && \
		$$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo 'No Chromium here, and none could be installed: put chromium or google-chrome on PATH for the browser test.'

lock: ## renew constraints.txt (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --all-extras --group dev --no-annotate \
		--custom-compile-command 'make lock' --output-file constraints.txt pyproject.toml

screenshots: $(VENV)/.installed-dev chromium ## the pictures of the docs, from the browser tests of the gate and of the review page
	@folder=$$(mktemp -d) && SLOWWAVE_SCREENSHOTS=$$folder $(BIN)/python -m pytest -q tests/e2e/test_gate.py \
		tests/e2e/test_review_page.py -k 'read_at_every_width or gate or memory_is_searched' && for name in plan waterfall launchpad checks applied lineage \
		status-light-1280 status-dark-1280 plan-dark-1280 review-light-1280 review-dark-1280 rules-light-1280 memory-row-light-1280; do cp $$folder/$$name.png docs/images/ || exit 1; done && rm -r $$folder

docs: $(VENV)/.installed ## renew the pages that are made from code: the table in docs/operations.md, docs/settings.md
	$(BIN)/python -m scripts.settings_page docs/operations.md
	$(BIN)/python -m scripts.settings_page > docs/settings.md

site: $(VENV)/.installed-dev ## docs/ as a site with search and references, in site/: python3 -m http.server -d site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(VENV)/.installed ## build wheel and sdist, check both, install each from its file in an empty environment, list its packages in sbom.json
	@rm -rf dist .venv-dist
	@$(UV) build --quiet
	@$(UV) tool run --quiet twine check --strict dist/*
	@for file in dist/*.whl dist/*.tar.gz; do rm -rf .venv-dist; \
	  $(UV) venv --quiet --python $(BIN)/python .venv-dist && $(UV) pip install --quiet --python .venv-dist/bin/python $(LOCK) ./$$file \
	  && (cd / && $(CURDIR)/.venv-dist/bin/python -P $(CURDIR)/scripts/check_installed.py $(CURDIR)/$$file) || exit 1; done
	@$(UV) tool run --quiet --from cyclonedx-bom cyclonedx-py environment .venv-dist/bin/python --output-format JSON --output-file sbom.json
	@rm -rf .venv-dist

clean: ## remove the virtual environment and nothing else
	rm -rf $(VENV)

$(BIN)/python:
	@echo 'Making $(VENV).'
	@$(MAKE_VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Installing: some seconds, or two minutes where uv cannot be had.'
	@$(call install,-e '.[dagster$(comma)minilm$(comma)serve]')
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(call install,-e '.[dagster$(comma)minilm$(comma)serve]' --group dev)
	@touch $@
