# Every target makes the virtual environment it needs; Python >= 3.10 and make are enough.
#   make demo     train a small network with a compiled gradient
#   make test     lint, types and tests: what continuous integration runs
#   make test-all     the long suites in full       make test-memory  with freed memory overwritten
#   make test-cuda    the CUDA target: compiled, assembled, run in emulation; installs its wheels
#   make test-pythons every supported Python that is installed
#   make test-floor   the oldest supported version of Numba
#   make attack   bad inputs, hostile files and generated programs: tests/attack in full
#   make lint     ruff and pyright        make format   apply ruff's fixes and formatting
#   make golden   rewrite tests/golden after a change of the emitted code
#   make freeze   compare emitted and lowered texts with stored hashes (tests/freeze)
#   make fuzz     random programs against plain Python, N of them: make N=10000 fuzz
#   make rules    rewrite docs/rules.md from the rules
#   make docs     build the documentation into build/site
#   make bench    compare s2s with its peers: make ROWS=mlp,gmm bench   make ARGS=--quick bench
#   make accuracy the largest errors of elementary functions, into docs/accuracy.md
#   make compile-times   of gradients, cold     make clean    remove .venv and build/
# Another interpreter: make PYTHON=python3.12 demo     More test processes: make JOBS=8 test

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
N ?= 1000
SEED ?= 0
ROWS ?=
ARGS ?=
RUN := $(VENV)/bin/python
PYTHONS ?= 3.10 3.11 3.12 3.13 3.14

# These run on a heap that overwrites freed memory: see test-memory.
MEMORY := $(addprefix tests/s2s/,kernels/test_linalg.py kernels/test_fft.py kernels/test_random.py \
  kernels/test_linalg_errors.py codegen/test_external_routines.py aot/test_c_kernel.py \
  codegen/numba_bridge/test_borrowed_arguments.py)

# These need the wheels of the CUDA target: see test-cuda.
CUDA := tests/s2s/cuda tests/cuda/test_emulation.py tests/cuda/test_compile_gate.py

.DEFAULT_GOAL := test
.PHONY: demo test test-all test-memory test-cuda test-pythons test-floor attack lint format golden freeze rules docs fuzz bench accuracy compile-times clean

demo: $(VENV)/demo.stamp
	$(RUN) examples/digits_mlp.py

test: lint
	$(RUN) -m pytest -n $(JOBS) -q $(addprefix --ignore=,$(MEMORY) $(CUDA))
	$(MAKE) test-memory
	$(MAKE) test-cuda

test-all: lint
	S2S_TEST_ALL=1 $(RUN) -m pytest -n $(JOBS) -q $(addprefix --ignore=,$(CUDA))
	$(MAKE) test-memory
	S2S_TEST_ALL=1 $(MAKE) test-cuda

# A heap that overwrites freed memory and reuses it at once: a use after free then always gives a
# wrong result.
test-memory: $(VENV)/test.stamp
	MALLOC_PERTURB_=85 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 PYTHONMALLOC=malloc \
	  S2S_KEEP_MEMORY=0 $(RUN) -m pytest -n $(JOBS) -q $(MEMORY)

# Half a gigabyte of wheels; no GPU and no driver.
test-cuda: $(VENV)/test.stamp
	@if $(RUN) -m pip install -q --disable-pip-version-check -e ".[cuda,test-cuda]"; then \
	  $(RUN) -m pytest -n $(JOBS) -q $(CUDA); \
	else echo "test-cuda: SKIPPED: the wheels of the CUDA target cannot be installed here"; fi

attack: $(VENV)/test.stamp
	S2S_TEST_ALL=1 $(RUN) -m pytest -n $(JOBS) -q tests/attack

test-pythons:
	@for version in $(PYTHONS); do \
	  if python$$version -c "" 2> /dev/null; then \
	    echo "== Python $$version"; \
	    $(MAKE) PYTHON=python$$version VENV=.venv-$$version test || exit 1; \
	  else echo "== Python $$version is not installed"; fi; \
	done

test-floor: export PIP_CONSTRAINT := $(CURDIR)/tests/floor.txt
test-floor:
	$(MAKE) VENV=.venv-floor .venv-floor/test.stamp
	.venv-floor/bin/python -m pytest -n $(JOBS) -q

lint: $(VENV)/test.stamp
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pyright --pythonpath $(RUN)
	$(VENV)/bin/lint-imports --no-cache

format: $(VENV)/test.stamp
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

golden: $(VENV)/test.stamp
	$(RUN) -m pytest -q tests/test_golden.py tests/test_docs.py tests/syntax_matrix --update-golden

freeze: $(VENV)/test.stamp
	$(RUN) -m tests.freeze $(ARGS)

fuzz: $(VENV)/test.stamp
	$(RUN) -m tests.fuzz --n $(N) --seed $(SEED)

rules: $(VENV)/base.stamp
	$(RUN) -m s2s.transforms.rules > docs/rules.md

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict
	@echo "open build/site/index.html; to write: $(RUN) -m mkdocs serve"

bench: $(VENV)/bench.stamp
	$(RUN) -m benchmarks --rows "$(ROWS)" $(ARGS)

accuracy: $(VENV)/test.stamp
	$(RUN) -m benchmarks.accuracy $(ARGS)

compile-times: $(VENV)/base.stamp
	$(RUN) benchmarks/compile_time.py

clean:
	rm -rf $(VENV) build dist *.egg-info

# ---- the environment: one stamp per set of extras, renewed when pyproject.toml changes

$(VENV)/base.stamp: EXTRAS :=
$(VENV)/demo.stamp: EXTRAS := [demo]
$(VENV)/docs.stamp: EXTRAS := [docs]
$(VENV)/bench.stamp: EXTRAS := [bench]
$(VENV)/test.stamp: EXTRAS := [demo,oracle,test,dev]
$(VENV)/base.stamp $(VENV)/demo.stamp $(VENV)/docs.stamp $(VENV)/bench.stamp $(VENV)/test.stamp: pyproject.toml $(VENV)/bin/python
	$(RUN) -m pip install -q --disable-pip-version-check -e ".$(EXTRAS)"
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "s2s needs Python 3.10 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make virtual environments: install its venv package" \
	         "(on Debian and Ubuntu: python3-venv), or name another: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
