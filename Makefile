# The commands of the project. `make` alone lists them.
#
# Set-up is incremental: each step leaves a stamp in .venv/stamps, and a second
# call does what has changed since and nothing else.

SHELL := /bin/bash
# Called through ssh, Debian's bash would read /etc/bash.bashrc, which `-u` complains about.
.SHELLFLAGS := --norc -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory --silent

# Debian's Python comes before any other that PATH may offer.
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
ifndef PYTHON
PYTHON := $(shell for p in /usr/bin/python3 python3; do $$p $(NEW_ENOUGH) 2>/dev/null && echo $$p && break; done)
PYTHON := $(or $(PYTHON),/usr/bin/python3)
endif

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
KERNELS := $(foreach end,pyx pxd pxi hpp,$(wildcard fastpath/*.$(end) fastpath/*/*.$(end)))
# What mypyc compiles (`tool.compiled`), and all whose types it goes by.
TYPED := $(shell find nodes testbed/sim testbed/plan/model.py -name '*.py') $(shell find fastpath -name '*.pyi')
PACKED := analysis cbn fastpath nodes testbed topologies
JOBS := $(shell nproc)
# Compiled Python is kept, whatever the caller's environment says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=
# What was compiled before, in whichever clone, is not compiled again (Debian's links to ccache).
export PATH := /usr/lib/ccache:$(PATH)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
SAY := printf '==> %s\n'

# What `make test` leaves out: virtual machines have a target of their own.
TESTS ?= tests
PYTEST_OPTIONS ?= -m 'not vm'

# A room's tests are in the folder of tests that is called like the room: those of nodes/routing in tests/routing.
tests_of = tests/$(if $(filter nodes/client,$1),daemon,$(notdir $1))
ROOMS := $(foreach r,analysis docs fastpath topologies $(patsubst %/,%,$(wildcard nodes/*/ testbed/*/)),\
    $(if $(wildcard $(call tests_of,$r)),$r))
ifdef ROOM
override ROOM := $(patsubst %/,%,$(ROOM))
ifeq ($(filter $(ROOM),$(ROOMS)),)
$(error There is no room $(ROOM) that has tests. Rooms are: $(strip $(ROOMS)))
endif
TESTS := $(call tests_of,$(ROOM))
endif

# What `make check` leaves out: what needs root, namespaces or Java, what takes long by its nature,
# and files of tests that have passed and depend on nothing that has changed since.
FAST_OPTIONS := -m 'not (emu or spark or vm or cluster)' $(addprefix --ignore=tests/,experiments faults docs benchmarks) \
    -p tests.unchanged

##@ Using the testbed

.PHONY: help
help: ## This list.
	awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' \
	    $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: packages ## Install what is needed and build, into .venv: then .venv/bin/cbn works.
	$(MAKE) --jobs=2 $(STAMPS)/extensions $(STAMPS)/analysis
	$(MAKE) $(STAMPS)/project
	$(MAKE) $(STAMPS)/archive
	$(SAY) "Built. This puts cbn on the PATH: . $(BIN)/activate"

.PHONY: demo
demo: build ## Build, run the quickstart scenario, and end with its verdict and report.
	$(SAY) "Running the quickstart scenario"
	requirements/as-root $(BIN)/cbn run quickstart --world auto --analyze

.PHONY: wheels
wheels: build ## The package and what it needs as wheels in build/wheels.tar, to be installed without an index.
	$(MAKE) $(STAMPS)/wheels

.PHONY: spark-wheels
spark-wheels: $(STAMPS)/build ## Spark and what else analyses need as wheels in build/spark-wheels.tar; 0.5 GB.
	$(MAKE) $(STAMPS)/spark-wheels

.PHONY: wheelhouse
wheelhouse: build ## All Python packages that `make build` installs, in build/wheelhouse: to build where no index is.
	$(MAKE) $(STAMPS)/wheelhouse

##@ Working on it

.PHONY: tools
tools: build
	$(MAKE) $(STAMPS)/dev

.PHONY: check
check: tools ## While working: style, types, contracts, and the fast tests of what has changed, side by side.
	$(MAKE) --jobs=2 --output-sync=target check-tests lint-code $(STAMPS)/playbooks

.PHONY: check-tests
check-tests:
	$(SAY) "The fast tests"
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile $(FAST_OPTIONS) $(TESTS)

.PHONY: test
test: tools ## Build and run all tests that this machine can run; ROOM=nodes/routing: those of one room.
	requirements/apt-install packages-test.apt
	$(SAY) "Running the tests"
	requirements/as-root $(BIN)/python -m pytest -p tests.parallel -n auto $(PYTEST_OPTIONS) $(TESTS)

.PHONY: lint
lint: tools ## Check style, types, import contracts, playbooks, and the tree itself.
	$(MAKE) lint-code lint-playbooks
	$(SAY) "the tree" && $(BIN)/python -m pytest -q -p no:cacheprovider tests/frame/test_tree.py

.PHONY: lint-code lint-playbooks
lint-code lint-playbooks: export PATH := $(CURDIR)/$(BIN):$(PATH)
lint-code:
	$(SAY) "ruff" && ruff check . && ruff format --check .
	$(SAY) "mypy" && mypy
	$(SAY) "import contracts" && lint-imports
	$(SAY) "cython-lint" && cython-lint fastpath
	$(SAY) "yamllint" && yamllint --strict .

lint-playbooks:
	$(SAY) "ansible" && ansible-lint --offline --profile production playbooks
	ansible-playbook --syntax-check --inventory localhost, playbooks/*.yml

# For `make check`: only after something in them has changed.
$(STAMPS)/playbooks: $(shell find playbooks ansible.cfg -type f)
	$(MAKE) lint-playbooks
	touch $@

.PHONY: sanitize
sanitize: tools ## Run the tests of the compiled fast path under ASan and UBSan.
	$(SAY) "Building the fast path with sanitizers, apart from the one in use"
	.ci/sanitize

.PHONY: verify
verify: tools ## Lint and sanitize side by side; what each prints comes out whole, when it ends.
	$(MAKE) --jobs=2 --output-sync=target lint sanitize

.PHONY: bench
bench: tools ## Measure; prints figures, judges nothing.
	$(BIN)/python -m pytest -s -p no:cacheprovider -o python_files="bench_*.py" -m "not emu" tests/benchmarks

.PHONY: bench-applications
bench-applications: tools ## Messages a second between applications, beside NATS and zenoh if they are there.
	requirements/as-root $(BIN)/python -m pytest -s -p no:cacheprovider tests/benchmarks/bench_applications.py

.PHONY: bench-judge
bench-judge: tools ## How long the verdict at the end of a run takes, as Markdown.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/judge_table.py

.PHONY: bench-verdict
bench-verdict: tools ## How long it takes from captures to the verdict, by phase, as Markdown; SECONDS=3: of traffic.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/verdict_time.py --seconds $(or $(SECONDS),3)

.PHONY: bench-oracle
bench-oracle: tools ## What was owed of 1,000,000 messages to 100,000 subscriptions; MESSAGES=10000: of so many.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/oracle_time.py $(if $(MESSAGES),--messages $(MESSAGES))

.PHONY: bench-descriptors
bench-descriptors: tools ## Until 200 routers have all descriptors of bp, bs and amsp, as Markdown; DESCRIPTORS=100000: of so many.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/descriptors_time.py --descriptors $(or $(DESCRIPTORS),100000)

.PHONY: bench-signalling
bench-signalling: tools ## What a message of bp, bs and amsp costs the processor in the simulator, as Markdown; SECONDS=60: of traffic; DIGEST=1: a digest of its packets.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/signalling_time.py --seconds $(or $(SECONDS),60) $(if $(DIGEST),--digest)

.PHONY: bench-one-client
bench-one-client: tools ## What 100,000 descriptors of one client cost under bp, bs and amsp, as Markdown; DESCRIPTORS=1000000: so many.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/one_client.py --descriptors $(or $(DESCRIPTORS),100000)

.PHONY: bench-seals
bench-seals: tools ## What it costs that neighbours prove who they are, as Markdown; ROUTERS=1000: of so many.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/seals_time.py --routers $(or $(ROUTERS),1000)

.PHONY: bench-flood
bench-flood: tools ## What a neighbour that floods a router costs the others, over sockets, as Markdown; FILTERS=20000 SECONDS=3: less.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/flood_table.py --filters $(or $(FILTERS),1000000) --seconds $(or $(SECONDS),10)

.PHONY: bench-sweep
bench-sweep: tools ## What the cells of a sweep cost as Spark tasks, with one worker and two, as Markdown.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/sweep_table.py

.PHONY: bench-analysis
bench-analysis: tools ## Captures to tables, beside tshark, Scapy and DuckDB, as Markdown; LARGE=1: 100 M packets, memory too.
	PYTHONPATH=. $(BIN)/python tests/benchmarks/analysis_table.py $(if $(LARGE),--large $(or $(PACKETS),100000000))

.PHONY: bench-match
bench-match: build ## The table of matching speeds, as Markdown; QUICK=1: small sizes.
	$(BIN)/python tests/benchmarks/match_table.py $(if $(QUICK),--quick)

.PHONY: reproduce
reproduce: build ## Carry out the papers' experiments and write their pages: half an hour, 1 GB.
	for name in $$($(BIN)/cbn reproduce --list | cut -d' ' -f1); do \
	    $(BIN)/cbn reproduce $$name --page docs/experiments || exit; done

.PHONY: bench-updates
bench-updates: build ## Match while filters come and go at 20,000 changes a second, a million of them standing.
	mkdir -p build
	test -e build/bench-updates/filters.txt || \
	    $(BIN)/cbn workload build/bench-updates --filters 1200000 --messages 20000 --quiet --force
	g++ -std=c++20 -O3 -Wall -Wextra -Werror -Ifastpath tests/benchmarks/match_updates.cpp -o build/match_updates -pthread
	for interfaces in 20 1000000; do \
	    build/match_updates build/bench-updates/filters.txt build/bench-updates/messages.txt 1000000 $$interfaces 20000 1000 4; \
	done

.PHONY: match-check
match-check: ## Hold a million answers of the matching engine to a plain search; SEED=1: these.
	mkdir -p build
	g++ -std=c++20 -O2 -Wall -Wextra -Werror -Ifastpath tests/fastpath/fast_check.cpp -o build/fast_check -pthread
	build/fast_check $(or $(SEED),$$RANDOM) 9000

.PHONY: cover-check
cover-check: ## Hold a million claims of covering against messages at their boundaries; SEED=1: these.
	mkdir -p build
	g++ -std=c++20 -O2 -Wall -Wextra -Werror -Ifastpath tests/fastpath/cover_check.cpp -o build/cover_check
	build/cover_check $(or $(SEED),$$RANDOM) 1000000

.PHONY: test-faults
test-faults: tools ## Break random networks under every scheme, and count what is missing; SEED=1: these; ON=local[2]: on Spark.
	$(BIN)/python -m tests.faults.campaign $(if $(SEED),--seed $(SEED)) $(if $(ON),--on '$(ON)')

.PHONY: test-interleavings
test-interleavings: tools ## Let subscriptions, crashes, reconnections and new keys cross in small networks; COUNT=100000 SEED=1.
	$(BIN)/python -m tests.faults.campaign --interleavings $(or $(COUNT),100000) $(if $(SEED),--seed $(SEED)) $(if $(ON),--on '$(ON)')

.PHONY: soak
soak: tools ## A network for 7 simulated days while everything breaks: memory, descriptors, tables; DAYS=1 ROUTERS=20 SEED=1; WORLD=emu HOURS=2.
	$(if $(filter emu,$(WORLD)),requirements/as-root) $(BIN)/python -m tests.soak $(if $(WORLD),--world $(WORLD)) $(if $(DAYS),--days $(DAYS)) $(if $(HOURS),--hours $(HOURS)) $(if $(ROUTERS),--routers $(ROUTERS)) $(if $(SEED),--seed $(SEED)) $(if $(SCHEME),--scheme $(SCHEME))

.PHONY: test-properties
test-properties: tools ## Hold posets and overlap to their definitions over 100,000 drawn cases each; CASES=1000 SEED=1 ONLY=overlap.
	$(BIN)/python -m tests.properties.campaign $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

.PHONY: test-models
test-models: tools ## Search all that can happen in small networks, on a channel and between neighbours; ONLY=adapt: of one model.
	$(BIN)/python -m tests.models $(if $(ONLY),--only $(ONLY))

.PHONY: fuzz
fuzz: tools $(STAMPS)/fuzz ## Fuzz all that reads bytes of others, guided by what is reached; MINUTES=1 ONLY=datagram SEED=1 KEEP=1.
	requirements/apt-install packages-fuzz.apt
	$(BIN)/python -m tests.fuzz.run $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep)

.PHONY: test-draws
test-draws: tools ## Draw four times as many cases as `make test` where the fast path is held to the model.
	CBN_TEST_DRAWS=all $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile $$(git grep -l 'import draws' -- tests)

.PHONY: test-attacks
test-attacks: tools ## Play attackers against routers with honest traffic, in memory and in namespaces: a table each.
	$(BIN)/python -m tests.attacks.campaign
	requirements/as-root $(BIN)/python -m tests.attacks.live

.PHONY: attack-table
attack-table: tools ## Attacks under each mode of security.neighbours: a table; PACKETS=1000000: so many, with seals.
	$(BIN)/python -m tests.attacks.table $(if $(PACKETS),--packets $(PACKETS))

.PHONY: judge
judge: tools ## Judge random runs a second time, by code that shares nothing; RUNS=100 EMU=5 SEED=1 QUICK=1; ON=spark or connect.
	$(if $(ON),$(BIN)/python -m tests.judge.elsewhere '$(ON)') $(BIN)/python -m tests.judge.campaign $(if $(QUICK),--quick) $(if $(RUNS),--runs $(RUNS)) $(if $(EMU),--emu $(EMU)) $(if $(SEED),--seed $(SEED))
	$(if $(ON),$(BIN)/python -m tests.judge.elsewhere '$(ON)' $(BIN)/python -m pytest -q tests/judge/test_planted.py tests/judge/test_agreement.py tests/analysis/test_planted_faults.py tests/analysis/test_planted_contradictions.py)

.PHONY: test-emu
test-emu: tools ## Try every carrier of links, as a table, then all tests of the emulated world.
	$(SAY) "What links are asked for, and what they do"
	requirements/as-root $(BIN)/python -m tests.emu.conformance
	$(SAY) "What runs leave that are killed at random moments"
	requirements/as-root $(BIN)/python -m tests.emu.soak_kill
	$(SAY) "Everything that can break, on a map of Europe, in both worlds"
	for world in sim emu; do \
	    rm -rf build/geant-storm-$$world && \
	    requirements/as-root $(BIN)/cbn run geant-storm --world $$world --out build/geant-storm-$$world || exit; done
	$(SAY) "The tests of the emulated world"
	requirements/as-root $(BIN)/python -m pytest -m emu tests/emu

.PHONY: bench-emu
bench-emu: tools ## Measure the emulated world: links, captures, how large a network may be.
	requirements/as-root $(BIN)/python -m pytest -s -p no:cacheprovider -o python_files="bench_*.py" -m emu tests/benchmarks

.PHONY: fuzz-wire
fuzz-wire: tools ## Hold the codec against the Scapy layers and against mutated packets.
	$(BIN)/python tests/wire/fuzz_wire.py

.PHONY: fuzz-control
fuzz-control: tools ## Feed a router control payloads with extreme numbers; COUNT=1000000: so many.
	$(BIN)/python -m tests.attacks.fuzz_control $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

.PHONY: box
box: wheelhouse ## Build a Vagrant box from Debian's packages, for CBN_BOX: build/lab.box; as root, minutes, 1 GB.
	requirements/apt-install packages-vm.apt
	requirements/as-root playbooks/box/build

.PHONY: test-cluster
test-cluster: tools ## Rehearse a cluster on machines without hardware: provision, run, break, compare, tear down; as root.
	requirements/apt-install packages-test.apt
	requirements/as-root $(BIN)/python -m pytest -m 'cluster and not spark' --durations=10 \
	    $(addprefix tests/cluster/test_,page.py playbooks.py same_as_other_worlds.py runs.py without_a_trace.py)

define TRY_VM
	rm -rf build/vm
	requirements/as-root tests/vm/private-libvirt build/vm \
	    $(BIN)/pytest -s -v -m vm -o faulthandler_timeout=1800 $(1)
	rm -rf build/vm
endef

.PHONY: test-vm
test-vm: tools box wheels ## Build the box, `vagrant up lab`, and try everything in it, under emulation; as root, 20 minutes.
	$(call TRY_VM,tests/vm/test_lab.py tests/vm/test_refusals.py)

.PHONY: test-vm-nodes
test-vm-nodes: tools box wheels ## Build the box, and run a scenario on two nodes that Vagrant makes; as root, 15 minutes.
	$(call TRY_VM,tests/vm/test_nodes.py)

.PHONY: pictures
pictures: tools ## Draw the README's pictures of real output anew; as root, with Chromium.
	requirements/as-root $(BIN)/python -m tests.docs.draw_pictures

.PHONY: pins
pins: $(STAMPS)/venv ## Resolve pyproject.toml anew into the pinned requirements/*.txt.
	$(BIN)/python requirements/resolve.py

.PHONY: clean
clean: ## Remove what building made, and .venv; runs/ is kept.
	$(SAY) "Removing what was built (runs/ is kept)"
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -f fastpath/*/*.so fastpath/*/*.cpp fastpath/*/*.html nodes/compiled.json
	find nodes testbed -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- Set-up, step by step ----------------------------------------------------

.PHONY: packages
packages:
	requirements/apt-install
	$(PYTHON) $(NEW_ENOUGH) 2>/dev/null || \
	    { $(SAY) "Python 3.11 or newer is needed; $(PYTHON) is not. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -e $(STAMPS)/analysis || .ci/can-build $(PYTHON)

$(STAMPS)/venv:
	$(SAY) "Making $(VENV) with $(PYTHON)"
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS) && touch $@

# Layer on layer: each is installed into the same environment.
$(STAMPS)/build: $(STAMPS)/venv
$(STAMPS)/runtime: $(STAMPS)/build
$(STAMPS)/tables: $(STAMPS)/runtime
$(STAMPS)/analysis: $(STAMPS)/tables
$(STAMPS)/dev: $(STAMPS)/analysis
$(STAMPS)/fuzz: $(STAMPS)/dev
$(addprefix $(STAMPS)/,build runtime tables analysis dev fuzz): $(STAMPS)/%: requirements/%.txt
	$(SAY) "Installing Python packages: requirements/$*.txt"
	$(PIP) install --quiet --no-build-isolation --requirement $< --constraint requirements/runtime.txt || { $(SAY) "pip could not install requirements/$*.txt: \
	see above. Usual causes: no network, an index that pip's configuration does not reach, no space left." >&2; exit 1; }
	touch $@

$(STAMPS)/extensions: $(KERNELS) $(TYPED) setup.py pyproject.toml $(STAMPS)/build
	$(SAY) "Compiling the fast path and the control plane"
	$(BIN)/python setup.py --quiet build_ext --inplace --parallel=$(JOBS)
	touch $@

# What an earlier version had would be packed, too: setuptools keeps it in build/lib*.
$(STAMPS)/wheels: $(shell find $(PACKED) -name __pycache__ -prune -o -type f ! -name '*.so' ! -name '*.cpp' -print)
$(STAMPS)/wheels: pyproject.toml setup.py requirements/runtime.txt requirements/tables.txt $(STAMPS)/build
	$(SAY) "Packing wheels into build/wheels.tar"
	rm -rf build/wheels build/lib* build/bdist*
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheels .
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheels \
	    --requirement requirements/runtime.txt --requirement requirements/tables.txt
	tar --create --file build/wheels.tar --directory build/wheels .
	touch $@

# Always the same bytes for the same wheels: machines that have them are left alone.
$(STAMPS)/spark-wheels: requirements/analysis.txt
	$(SAY) "Packing wheels into build/spark-wheels.tar"
	rm -rf build/spark-wheels
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/spark-wheels --requirement $<
	tar --create --file build/spark-wheels.tar --directory build/spark-wheels --sort=name --mtime=@0 .
	rm -rf build/spark-wheels
	touch $@

COLLECTED := $(addprefix requirements/,build.txt runtime.txt tables.txt analysis.txt)
$(STAMPS)/wheelhouse: $(COLLECTED) $(STAMPS)/build
	$(SAY) "Collecting Python packages in build/wheelhouse"
	rm -rf build/wheelhouse
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheelhouse \
	    $(addprefix --requirement ,$(COLLECTED))
	touch $@

$(STAMPS)/project: pyproject.toml setup.py $(STAMPS)/runtime
	$(SAY) "Installing the project itself, editable"
	CBN_EXT=none $(PIP) install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Spark's classes, with which it starts in half the time. An emulated processor would work on it for minutes.
# Code 3 of cbn: there is no Java here, which it has said.
$(STAMPS)/archive: $(STAMPS)/analysis | $(STAMPS)/extensions $(STAMPS)/project
	if [ "$$(systemd-detect-virt --vm)" = qemu ]; then \
	    $(SAY) "Spark starts slowly, as the processor is emulated: \`cbn spark archive\` halves it, once for minutes"; \
	else \
	    $(SAY) "Keeping the Java classes that Spark loads, so that analyses start sooner"; \
	    $(BIN)/cbn spark archive || [ $$? -eq 3 ]; \
	fi
	touch $@
