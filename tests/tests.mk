# The tests, and what is measured and broken to look for mistakes.

SANITIZE := -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined
FLAGS_asan := $(SANITIZE)
FLAGS_tsan := -fno-omit-frame-pointer -fsanitize=thread
FLAGS_fuzz := $(SANITIZE),fuzzer-no-link
# The counters are memory shared with the file, so a process that is killed counts.
COVERED := -fprofile-instr-generate=$(CURDIR)/$(B)/raw/%m%c.profraw
FLAGS_coverage := $(COVERED) -fcoverage-mapping -mllvm -runtime-counter-relocation
LINK_coverage := $(COVERED)
# Each call in the source is one in the program, to which it returns.
FLAGS_faults := -fno-inline -fno-optimize-sibling-calls
LINK_asan := $(SANITIZE)
LINK_tsan := -fsanitize=thread
LINK_fuzz := $(SANITIZE),fuzzer

SIM_LUA = $(eval SIM_LUA := $$(firstword $$(foreach name,luajit lua5.1 lua-5.1,$$(shell \
	$(PKG_CONFIG) --exists $$(name) && echo $$(name)))))$(SIM_LUA)
# Those that play whole runs take Lua.
PLAYED_TESTS := tables denials
# One stands in for OpenSSL, which the static build has.
UNIT_SRC := $(filter-out $(patsubst %,tests/unit/%_test.c,$(if $(filter static,$(VARIANT)),\
	tls_memory $(PLAYED_TESTS),$(if $(filter no,$(DEPS)),$(if $(SIM_LUA),,$(PLAYED_TESTS))))),\
	$(wildcard tests/unit/*_test.c))
UNIT := $(UNIT_SRC:%.c=$(B)/%)
TARGETS ?= *
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard $(TARGETS:%=tests/fuzz/fuzz_%.c)))
BENCH := $(B)/bench/pair $(B)/bench/stamp
HELPERS := $(B)/helpers/job

# In place of these, a lock is moved by a script: tests/unit/scripted.h.
SCRIPTED := $(patsubst %,$(B)/tests/unit/%_test,acquire errors lease lock release \
	rounds)
SCRIPTED_WRAPS := clock_now answer_read dice_between dice_fill $(addprefix way_,new free send drop \
	doubt reject is_up rests_until has_moved label error)
$(SCRIPTED): ALL_LDFLAGS += $(SCRIPTED_WRAPS:%=-Wl,--wrap=%)
$(B)/tests/unit/queue_test: ALL_LDFLAGS += -Wl,--wrap=dice_between
GUARD_WRAPS := $(addprefix guard_,job_is_gone is_unresponsive kill kill_job order set_deadline)
$(B)/tests/unit/watch_test: ALL_LDFLAGS += $(GUARD_WRAPS:%=-Wl,--wrap=%)
$(B)/tests/unit/event_test: ALL_LDFLAGS += -Wl,--wrap=way_rests_until
# Likewise a kind of way: tests/unit/placed.h.
PLACED := $(patsubst %,$(B)/tests/unit/%_test,sentinel slot)
PLACED_WRAPS := clock_now loop_timer_set loop_timer_remove $(addprefix way_,new new_of free send \
	drop leave found not_found is_up is_idle host)
$(PLACED): ALL_LDFLAGS += $(PLACED_WRAPS:%=-Wl,--wrap=%)
# Ways whose clock a test moves: tests/unit/peers.h.
PEERED := $(patsubst %,$(B)/tests/unit/%_test,exchange secure way)
$(PEERED): ALL_LDFLAGS += -Wl,--wrap=clock_now,--wrap=clock_arm
WIPED_WRAPS := clock_now statvfs statvfs64 explicit_bzero __explicit_bzero_chk
$(B)/tests/unit/password_file_test: ALL_LDFLAGS += $(WIPED_WRAPS:%=-Wl,--wrap=%)
$(B)/tests/unit/tls_test: ALL_LDFLAGS += -Wl,--wrap=clock_now,--wrap=stat,--wrap=stat64,--wrap=__stat_time64,--wrap=__stat64_time64
TABLES_TEST := $(B)/tests/unit/tables_test
PLAYED := $(PLAYED_TESTS:%=$(B)/tests/unit/%_test)
$(filter-out $(PLAYED),$(UNIT)) $(FUZZ): %: %.o $(filter-out $(B)/src/app/main.o,$(OBJ))
$(B)/tests/unit/tls_memory_test: $(B)/src/redis/tls/tls_memory.o
$(filter-out $(PLAYED),$(UNIT)) $(FUZZ):
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

FETCHED = $(CLIENTS) $(PROMTOOL) $(POSTGRESQL) $(CRON)

# The libraries that tests/lock/clients.bats runs beside us. Where they can't be
# fetched their tests are skipped, which STRICT=1 takes for a failure.
CLIENTS := build/clients/node_modules/.package-lock.json
$(CLIENTS): $(wildcard tests/helpers/clients/package*.json)
	@mkdir -p build/clients
	cp $^ build/clients
	cd build/clients && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log
	@touch $@

# promtool checks our metrics and alert rules (before Debian 13 it belongs to prometheus),
# PostgreSQL the book's example of fencing, and cron runs a crontab. They are fetched like
# CLIENTS, and one after the other: apt locks its lists.
PROMTOOL := build/promtool/promtool
$(PROMTOOL):
	@mkdir -p build
	@flock build packaging/unpack.sh $(@D) usr/bin/promtool promtool prometheus
POSTGRESQL := build/postgresql/bin/psql
$(POSTGRESQL):
	@mkdir -p build
	@flock build packaging/postgresql.sh build/postgresql
CRON := build/cron/cron
$(CRON):
	@mkdir -p build
	@flock build packaging/unpack.sh $(@D) usr/sbin/cron cron

check-asan: ## check with address and undefined behaviour sanitizers (clang)
	@packaging/deps.sh check fuzz
	@$(MAKE) --no-print-directory VARIANT=asan CC=$(CLANG) check

check-tsan: ## the thread that writes files, with the thread sanitizer (clang)
	@packaging/deps.sh check fuzz
	@TESTS='tests/unit/writer_test.c tests/cli/log.bats tests/cli/metrics.bats' \
	    $(MAKE) --no-print-directory VARIANT=tsan CC=$(CLANG) check

check-valgrind: ## unit tests and a choice of tests of the suites, under valgrind
	@packaging/deps.sh check valgrind
	@$(MAKE) $(PARALLEL) -s VARIANT=valgrind valgrind-run

valgrind-run: all $(UNIT) $(HELPERS)
	@tests/valgrind/check $(B)

COVERED_FOLDERS := cli job lock queue servers
# Any user may count in the program's file.
coverage: ## what the tests reach, as HTML, and what they do not, with reasons (clang)
	@packaging/deps.sh check fuzz
	@rm -rf build/coverage/raw && mkdir -p -m 777 build/coverage/raw
	@$(MAKE) $(PARALLEL) -s VARIANT=coverage CC=$(CLANG) all build/coverage/sim
	@umask 0; build/coverage/rlockrun -V >build/coverage/html.log
	@build/coverage/sim 1 2000 tests/sim/scenes/*.txt | tail -n 1
	@TESTS='$(UNIT_SRC) $(wildcard $(COVERED_FOLDERS:%=tests/%/*.bats))' TAGS=all \
	    $(MAKE) --no-print-directory VARIANT=coverage CC=$(CLANG) check; \
	    status=$$?; tests/coverage/report build/coverage && exit $$status

# What depends on the C library, on OpenSSL or on how names are resolved.
STATIC_TESTS := tests/package/static.bats tests/package/hardening.bats tests/package/release.bats \
	tests/servers/tls.bats tests/servers/servers.bats tests/cli/badinput.bats tests/job/job.bats \
	tests/job/signals.bats tests/lock/lock.bats
# The user mode of qemu has no subreaper, so no job runs in it: of another
# architecture it runs the unit tests, and release.bats builds the release twice.
# Five of them need that, clone(2) without an exit signal, seccomp(2) or MADV_WIPEONFORK.
OTHER_TESTS = $(filter-out $(patsubst %,tests/unit/%_test.c,tls_memory $(PLAYED_TESTS) descendants descriptors guard hooks secret), \
	$(wildcard tests/unit/*_test.c)) tests/package/release.bats
check-static: static ## a choice of tests with the static build (ARCH=s390x: unit tests)
	@packaging/deps.sh check release image sign $(OTHER)
	@$(if $(OTHER),,$(MAKE) $(PARALLEL) -s VARIANT=static helpers)
	@$(if $(OTHER),$(MAKE) $(PARALLEL) -s VARIANT=static unit)
	@$(if $(OTHER),EMULATOR=$$(packaging/static/target.sh $(OTHER) emulator) ARCH=$(OTHER) \
	    TESTS='$(OTHER_TESTS)',TESTS='$(STATIC_TESTS)') \
	    tests/run build/static$(OTHER:%=-%)

unit: $(UNIT)
helpers: $(HELPERS)

# Whole runs in virtual time: the program, in which the linker replaces what has to do
# with time, chance, connections, signals and threads (tests/sim/kernel.c), and the guard.
SIM_WRAPS := clock_arm clock_epoch clock_gettime clock_now clock_now_us clock_timer close \
	descriptors_poll descriptors_write dup2 events_emit exit gethostname getpid getrandom getuid \
	isatty prctl signals_die signals_init signals_next socket_address socket_close socket_connect \
	socket_error socket_open socket_read socket_write terminal_is_controlling time write writer_start
SIM_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c))
TABLES_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/tables/*.c))
$(SIM_OBJ) $(TABLES_OBJ) $(PLAYED:=.o): DIALECT += -Itests/sim -Itests/tables \
	$(shell $(PKG_CONFIG) --cflags-only-I $(SIM_LUA))
$(B)/tests/sim/program.o: $(B)/src/app/main.o
	@mkdir -p $(@D)
	objcopy --redefine-sym main=rlockrun_main $< $@
$(PLAYED): ALL_LDFLAGS += -Wl,--wrap=check_host
$(B)/sim: $(SIM_OBJ)
$(PLAYED): %: %.o $(TABLES_OBJ) $(filter-out $(B)/tests/sim/main.o,$(SIM_OBJ))
$(B)/sim $(PLAYED): $(B)/tests/sim/program.o \
		$(filter-out $(B)/src/app/main.o $(B)/src/job/guard.o,$(OBJ))
	$(CC) $(ALL_LDFLAGS) $(SIM_WRAPS:%=-Wl,--wrap=%) -o $@ $^ $(LIBS) \
	    $(shell $(PKG_CONFIG) --libs $(SIM_LUA)) -lcrypto -lm

sim: ## play histories of whole runs in virtual time (SEED= COUNT=, or SEED= TRACE=1)
	@packaging/deps.sh build sim
	@$(MAKE) $(PARALLEL) -s $(B)/sim
	@$(B)/sim $(if $(TRACE),-t) $(or $(SEED),1) $(if $(TRACE),,$(or $(COUNT),5000) \
	    tests/sim/scenes/*.txt)
	@$(if $(TRACE),,SIM=$(B)/sim tests/sim/night $(or $(SEED),1))

tables: ## what runs print, against the simulation's servers (TABLES=FILE... FILTER= WRITE=1)
	@packaging/deps.sh build sim
	@$(MAKE) $(PARALLEL) -s $(TABLES_TEST)
	@$(TABLES_TEST) $(TABLES)

sim-selftest: ## what the simulation must find is found: planted mistakes
	@packaging/deps.sh build sim
	@$(MAKE) $(PARALLEL) -s build/release/sim
	@tests/sim/selftest

differential: ## compare the simulation's double with a server (SERVER=PATH SEED= COUNT=)
	@packaging/deps.sh sim
	@tests/sim/differential --seed $(or $(SEED),1) --commands $(or $(COUNT),20000) \
	    $(if $(SERVER),--server $(SERVER))

check-matrix: ## check with other servers, libraries and compilers (some need root)
	-@packaging/deps.sh matrix
	@tests/matrix/run $(PARTS)

check-machines: ## smoke tests on other kernels and processors, in qemu (MACHINES=arm64...)
	-@packaging/deps.sh static machines
	@tests/machines/run $(MACHINES)

check-packages: release ## packages of make release in clean roots of Debian's suites (PARTS=deb-stable...)
	-@packaging/deps.sh matrix
	@tests/packages/run $(VERSION) $(PARTS)

night: ## what is looked at at night: goes on where it was stopped (PARTS=chaos...)
	@tests/parts night $(PARTS)

# Of each target of `make fuzz`.
HOURS ?=
FUZZ_SECONDS ?= $(if $(HOURS),$(shell echo $$(($(HOURS) * 3600))),20)
fuzz: ## run each fuzz target for 20 seconds (HOURS=1 TARGETS=url)
	@packaging/deps.sh fuzz
	@$(MAKE) $(PARALLEL) -s VARIANT=fuzz CC=$(CLANG) fuzz-run

# Works on a copy: what the fuzzer finds must not end up in the tracked corpus.
fuzz-run: $(FUZZ:%=%.run)
$(FUZZ:%=%.run): %.run: %
	@mkdir -p $*.corpus
	@cp -R $(wildcard $(patsubst fuzz_%,tests/fuzz/corpus/%/.,$(notdir $*))) $*.corpus/ 2>/dev/null || :
	@$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -artifact_prefix=$*. \
	    $*.corpus >$*.log 2>&1 || { tail -n 60 $*.log; exit 1; }
	@echo "$(notdir $*): $$(tail -n 1 $*.log)"

fuzz-merge: ## add to the corpus what `make fuzz` found and no seed reaches (TARGETS=url)
	@$(MAKE) --no-print-directory -s VARIANT=fuzz CC=$(CLANG) fuzz-merge-run

# By edges: with their counters there would be hundreds of files.
fuzz-merge-run: $(FUZZ:%=%.merge)
$(FUZZ:%=%.merge): %.merge: %
	@$* -merge=1 -use_counters=0 -max_len=1024 $(patsubst fuzz_%,tests/fuzz/corpus/%,$(notdir $*)) \
	    $*.corpus >$*.log 2>&1 || { tail -n 60 $*.log; exit 1; }
	@echo "$(notdir $*): $$(grep -o '[0-9]* new files.*' $*.log)"

faults: ## each system call fails once (QUICK=1, SCENE, PHASE, FILTER choose)
	@packaging/deps.sh faults
	@$(MAKE) $(PARALLEL) -s VARIANT=faults all
	@tests/faults/run build/faults/rlockrun

faults-selftest: ## what the system call faults must find is found
	@packaging/deps.sh faults
	@$(MAKE) $(PARALLEL) -s VARIANT=faults all
	@tests/faults/selftest build/faults/rlockrun

# Installs what suites use, as far as it can be had: without it they skip tests.
mutants: ## break the program in one place at a time (SEED= COUNT=100 ONLY=FILE)
	@packaging/deps.sh mutants sim
	@$(MAKE) $(PARALLEL) -s all $(B)/sim $(UNIT) $(HELPERS)
	-@$(MAKE) $(PARALLEL) -s -k $(CLIENTS)
	@$(MAKE) $(PARALLEL) -s VARIANT=faults all
	@packaging/server.sh $(B)/bin
	@tests/mutants/run

# The table and the picture, without their endings.
FIGURES ?= build/bench

bench: ## what a run costs, against flock(1) and others (RUNS=300, ONLY=ways)
	@packaging/deps.sh bench
	@$(MAKE) $(PARALLEL) -s all $(BENCH)
	-@$(MAKE) --no-print-directory static
	@tests/bench/fetch-etcd $(B)/bench/etcd
	@tests/bench/run $(B)/rlockrun $(B)/bench $(FIGURES).tsv

bench-plot: | $(filter bench,$(MAKECMDGOALS)) ## draw the figures of make bench: build/bench.svg
	@packaging/deps.sh bench
	@tests/bench/plot $(FIGURES).tsv $(FIGURES).svg

$(B)/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $<

# Of the suites: sanitizers and counters are for the program.
$(B)/helpers/%: FLAGS_$(VARIANT) =
$(B)/helpers/%: LINK_asan =
$(B)/helpers/%: LINK_tsan =
$(B)/helpers/%: LINK_coverage =
$(B)/helpers/%: tests/helpers/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $<

# What it finds is in build/chaos, one folder for each topology and seed.
chaos: ## a minute of faults on all topologies (DURATION=60 SEED= TOPOLOGY=)
	@packaging/deps.sh check
	@$(MAKE) $(PARALLEL) -s all build/chaos/job
	@packaging/server.sh $(B)/bin
	@PATH=$(CURDIR)/$(B)/bin:$$PATH tests/chaos/run $(B)/rlockrun build/chaos/job build/chaos

build/chaos/job: tests/chaos/job.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pthread -o $@ $<

soak: ## runs of all kinds, and nothing grows (HOURS=1 SEED= SAMPLES=1)
	@packaging/deps.sh check
	@$(MAKE) $(PARALLEL) -s all
	@packaging/server.sh $(B)/bin
	@PATH=$(CURDIR)/$(B)/bin:$$PATH tests/soak/run $(B)/rlockrun

soak-selftest: ## what a soak must find is found
	@LEAKY=1 BATS_TEST_TIMEOUT=900 $(MAKE) -s check TAGS=all TESTS=tests/soak/soak.bats

model: ## check the models of queue and guard (spin; QUICK=1)
	@packaging/deps.sh model
	@tests/model/run build/model

.PHONY: check-asan check-tsan check-valgrind valgrind-run coverage check-static unit helpers sim tables \
	sim-selftest differential check-matrix check-machines check-packages night fuzz fuzz-run \
	fuzz-merge fuzz-merge-run faults faults-selftest mutants bench bench-plot chaos soak \
	soak-selftest model $(FUZZ:%=%.run) $(FUZZ:%=%.merge)
