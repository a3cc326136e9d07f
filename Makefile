# rlockrun: `make help` tells the targets. GNU make; hiredis by pkg-config.

VERSION := 0.1.0

CC ?= cc
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
PKG_CONFIG ?= pkg-config
CLANG ?= clang
CLANG_FORMAT ?= clang-format-14
CLANG_TIDY ?= clang-tidy-14
DESTDIR ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR ?= $(PREFIX)/share/doc/rlockrun
UNITDIR ?= $(PREFIX)/lib/systemd/system
# Of each target of `make fuzz`.
HOURS ?=
FUZZ_SECONDS ?= $(if $(HOURS),$(shell echo $$(($(HOURS) * 3600))),20)

# One folder of objects for each variant: release, static, asan, coverage, fuzz,
# faults, analyze, clang.
VARIANT ?= release

# `make static ARCH=arm64` cross-compiles for what Debian calls so. OTHER is empty if
# that is the architecture of this machine.
ARCH ?=
OTHER := $(if $(ARCH),$(shell packaging/static/target.sh $(ARCH) other || echo unknown))
$(if $(filter unknown,$(OTHER)),$(error ARCH=$(ARCH) is unknown))

B := build/$(VARIANT)$(if $(filter static,$(VARIANT)),$(OTHER:%=-%))

# Packagers may bring a level of their own, and without -O it is a warning.
FORTIFY = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if \
	$(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
SANITIZE := -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined

FLAGS_release = $(FORTIFY)
FLAGS_asan := $(SANITIZE)
FLAGS_tsan := -fno-omit-frame-pointer -fsanitize=thread
FLAGS_fuzz := $(SANITIZE),fuzzer-no-link
FLAGS_analyze := -fanalyzer
# The counters are memory shared with the file, so a process that is killed counts.
COVERED := -fprofile-instr-generate=$(CURDIR)/$(B)/raw/%m%c.profraw
FLAGS_coverage := $(COVERED) -fcoverage-mapping -mllvm -runtime-counter-relocation
LINK_coverage := $(COVERED)
# Each call in the source is one in the program, to which it returns.
FLAGS_faults := -fno-inline -fno-optimize-sibling-calls
# gcc notes for i386 that the alignment of 64-bit atomics differs from that of gcc 10.
FLAGS_static = -fno-pie -ffile-prefix-map=$(CURDIR)=. $(if $(filter i386,$(OTHER)),-Wno-psabi)
LINK_asan := $(SANITIZE)
LINK_tsan := -fsanitize=thread
# Not position-independent: relocating OpenSSL's tables would take a fifth of a run.
LINK_static := -static -no-pie
LINK_fuzz := $(SANITIZE),fuzzer

# static: hiredis is a part of the program, and each run loads one library less.
# shared: for distributions, which replace libraries, and for `make faults`, which
# needs calls of a library. Without a value: static, if the linker finds the archive.
HIREDIS ?=
# loaded, if there is no value: OpenSSL is loaded when a URL asks for TLS, and no other
# run pays for it. linked: for packagers whose tools know a package by what it links.
TLS ?=
refuse = $(if $(filter-out $(2),$($(1))),$(error $(1)=$($(1)) is neither $(subst $() , nor ,$(2))))
$(call refuse,HIREDIS,static shared)$(call refuse,TLS,loaded linked)

# Asked once, and not before a recipe needs it: pkg-config may still have to be
# installed. We include <hiredis/...>, some versions' flags mean <...>.
pkg = $(or $(shell $(PKG_CONFIG) $(1) $(2)),$(error \
	$(2) not found, `packaging/deps.sh build` installs it))
HIREDIS_CFLAGS = $(eval HIREDIS_CFLAGS := $$(filter-out -isystem/usr/include,$$(patsubst \
	-I%,-isystem%,$$(patsubst %/hiredis,%,$$(call pkg,--cflags,hiredis)))))$(HIREDIS_CFLAGS)
HIREDIS_LIBS = $(eval HIREDIS_LIBS := $$(call pkg,--libs,hiredis))$(HIREDIS_LIBS)
HIREDIS_ARCHIVE := -l:libhiredis.a
find_archive = $(shell $(CC) -r -nostdlib -o /dev/null $(filter -L%,$(HIREDIS_LIBS)) \
	$(HIREDIS_ARCHIVE) >/dev/null 2>&1 && echo static)
HIREDIS_TAKEN = $(eval HIREDIS_TAKEN := $$(or \
	$$(filter shared,$$(or $$(HIREDIS),$$(VARIANT:faults=shared))),$$(find_archive),$$(if \
	$$(HIREDIS),$$(error HIREDIS=static, but the linker finds no libhiredis.a),shared)))$(HIREDIS_TAKEN)
OPENSSL_TAKEN = $(if $(filter static,$(VARIANT)),static build,$(if \
	$(filter linked,$(TLS)),linked,loaded when a URL asks for TLS))
# dlopen(3) and threads, before glibc 2.34.
LIBS = $(if $(filter static,$(HIREDIS_TAKEN)),$(HIREDIS_LIBS:-lhiredis=$(HIREDIS_ARCHIVE)),$(HIREDIS_LIBS)) \
	$(if $(filter linked,$(TLS)),$(call pkg,--libs,libssl libcrypto)) -ldl -lpthread

# `make static` uses musl, with which a program starts sooner than with glibc, and
# OpenSSL and hiredis that packaging/static/libraries.sh compiled for it.
MUSL_CC ?= $(if $(OTHER),$(CURDIR)/build/cross/$(OTHER)/bin/)musl-gcc
LIBRARIES ?= $(CURDIR)/build/libraries$(OTHER:%=-%)
ifeq ($(VARIANT),static)
CC := $(MUSL_CC)
override TLS := linked
HIREDIS_TAKEN := static
HIREDIS_CFLAGS := -isystem $(LIBRARIES)/include
LIBS := $(addprefix $(LIBRARIES)/lib/lib,hiredis.a ssl.a crypto.a)
STAMP := $(LIBRARIES)/stamp
endif

DIALECT = -std=c11 -D_GNU_SOURCE -DRLOCKRUN_VERSION='"$(VERSION)"' \
	-DRLOCKRUN_HIREDIS='"$(HIREDIS_TAKEN) library"' -DRLOCKRUN_OPENSSL='"$(OPENSSL_TAKEN)"' \
	-Isrc $(HIREDIS_CFLAGS)
ALL_CFLAGS = $(DIALECT) -MMD -MP -Wall -Wextra -Wshadow -Wconversion -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes $(if $(WERROR),-Werror) \
	-fstack-protector-strong -fPIE $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LINK_$(VARIANT)) $(CFLAGS) $(LDFLAGS)

# What only `make static` has, and what it has not.
STATIC_SRC := $(addprefix src/redis/,tls/tls_static.c tls/tls_memory.c names/resolve_getent.c)
SYSTEM_SRC := $(addprefix src/redis/,tls/tls_system.c names/resolve_libc.c)
ALL_SRC := $(wildcard src/*/*.c src/*/*/*.c)
SRC := $(filter-out $(if $(filter static,$(VARIANT)),$(SYSTEM_SRC),$(STATIC_SRC)) \
	src/redis/tls/tls_$(if $(filter linked,$(TLS)),loaded,linked).c,$(ALL_SRC))
LUA := $(wildcard src/*/script/*.lua)
SCRIPTS := $(B)/src/lock/scripts
OBJ := $(SRC:%.c=$(B)/%.o) $(SCRIPTS).o
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
HELPERS := $(B)/helpers/ask $(B)/helpers/job
HEADERS := $(wildcard src/*/*.h src/*/*/*.h tests/*/*.h)

# Our own sub-makes use all cores unless the user said how many.
PARALLEL = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))

all: $(B)/rlockrun ## build build/release/rlockrun (HIREDIS=shared|static TLS=loaded|linked)

static: libraries ## build build/static/rlockrun, which runs on any Linux (ARCH=arm64...)
	@$(MAKE) $(PARALLEL) -s VARIANT=static all

libraries:
	@packaging/deps.sh static $(OTHER)
	@$(if $(OTHER),packaging/static/compiler.sh build/cross/$(OTHER) $(OTHER))
	@MUSL_CC=$(MUSL_CC) packaging/static/libraries.sh $(LIBRARIES) $(OTHER)

$(B)/rlockrun: $(OBJ)
# In place of these, a lock is moved by a script: tests/unit/scripted.h.
SCRIPTED := $(patsubst %,$(B)/tests/unit/%_test,acquire errors lease lock release)
SCRIPTED_WRAPS := clock_now answer_read dice_between $(addprefix way_,new free send drop \
	doubt reject is_up rests_until has_moved label error)
$(SCRIPTED): ALL_LDFLAGS += $(SCRIPTED_WRAPS:%=-Wl,--wrap=%)
TABLES_TEST := $(B)/tests/unit/tables_test
PLAYED := $(PLAYED_TESTS:%=$(B)/tests/unit/%_test)
$(filter-out $(PLAYED),$(UNIT)) $(FUZZ): %: %.o $(filter-out $(B)/src/app/main.o,$(OBJ))
$(B)/tests/unit/tls_memory_test: $(B)/src/redis/tls/tls_memory.o
$(B)/rlockrun $(filter-out $(PLAYED),$(UNIT)) $(FUZZ):
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)
	$(if $(filter %/rlockrun,$@),@echo '$@: hiredis: $(HIREDIS_TAKEN) library; OpenSSL: $(OPENSSL_TAKEN)')

# With another choice of libraries these are made anew.
$(B)/src/redis/value.o $(B)/src/redis/tls/tls.o $(B)/rlockrun: $(B)/taken
$(B)/taken: FORCE
	@mkdir -p $(@D)
	@echo '$(HIREDIS_TAKEN), $(OPENSSL_TAKEN)' | cmp -s - $@ || \
	    echo '$(HIREDIS_TAKEN), $(OPENSSL_TAKEN)' >$@
FORCE:

$(B)/%.o: %.c Makefile $(STAMP)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Those of lock and of admin. Beside it, in a folder of the same name, each script as
# it is sent.
$(SCRIPTS).c: src/lock/script/embed.awk src/lock/limit.h $(LUA) \
		$(wildcard src/lock/script/shared/*.lua) Makefile
	@rm -rf $(SCRIPTS) $(SCRIPTS)-named && mkdir -p $(SCRIPTS) $(SCRIPTS)-named
	awk -f $< -v out=$(SCRIPTS) src/lock/limit.h $(LUA) >$@
$(SCRIPTS).o: $(SCRIPTS).c
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

-include $(wildcard $(B)/*/*.d $(B)/src/*/*.d $(B)/src/*/*/*.d $(B)/tests/*/*.d)

# Where a page of man/ is installed: that of section 7 in man7.
PAGES := $(sort $(wildcard man/*.[157]))
EXAMPLES := $(wildcard packaging/examples/*)
MANUAL = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
UNITS := $(wildcard packaging/systemd/*)
# With PREFIX=/, as in the archive of a release, the tree may be moved elsewhere: then
# systemd looks for the program in /usr/local/bin and /usr/bin.
UNIT_PROGRAM = $(if $(filter /,$(PREFIX)),,$(BINDIR)/)rlockrun

install: all ## install program, man pages, completions, systemd units and examples
	install -Dm755 $(B)/rlockrun $(DESTDIR)$(BINDIR)/rlockrun
	$(foreach page,$(PAGES),install -Dm644 $(page) $(DESTDIR)$(call MANUAL,$(page)) && ):
	install -Dm644 completions/rlockrun.bash $(DESTDIR)$(BASHCOMPDIR)/rlockrun
	install -Dm644 completions/_rlockrun $(DESTDIR)$(ZSHCOMPDIR)/_rlockrun
	install -Dm644 completions/rlockrun.fish $(DESTDIR)$(FISHCOMPDIR)/rlockrun.fish
	install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(DOCDIR)/examples
	install -m644 $(UNITS) $(DESTDIR)$(UNITDIR)
	sed -i 's|@BINDIR@/rlockrun|$(UNIT_PROGRAM)|' $(UNITS:packaging/systemd/%=$(DESTDIR)$(UNITDIR)/%)
	install -m644 $(filter-out %.sh,$(EXAMPLES)) $(DESTDIR)$(DOCDIR)/examples
	install -m755 $(filter %.sh,$(EXAMPLES)) $(DESTDIR)$(DOCDIR)/examples

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/rlockrun \
	    $(foreach page,$(PAGES),$(DESTDIR)$(call MANUAL,$(page))) \
	    $(DESTDIR)$(BASHCOMPDIR)/rlockrun $(DESTDIR)$(ZSHCOMPDIR)/_rlockrun \
	    $(DESTDIR)$(FISHCOMPDIR)/rlockrun.fish \
	    $(UNITS:packaging/systemd/%=$(DESTDIR)$(UNITDIR)/%) \
	    $(EXAMPLES:packaging/%=$(DESTDIR)$(DOCDIR)/%)
	@rmdir $(DESTDIR)$(DOCDIR)/examples $(DESTDIR)$(DOCDIR) 2>/dev/null || :

demo: ## show the promises on a private server of its own
	@packaging/deps.sh demo
	@$(MAKE) $(PARALLEL) -s all
	@RLOCKRUN=$(CURDIR)/$(B)/rlockrun packaging/demo.sh

# DEPS=no installs and fetches nothing, and skips what needs that.
FETCHED = $(CLIENTS) $(PROMTOOL) $(POSTGRESQL) $(CRON)
check: ## the everyday tests (TESTS, FILTER, TAGS, TOPOLOGY choose; DEPS=no SLOW=1)
	@$(if $(filter no,$(DEPS)),,packaging/deps.sh check sim)
	@$(MAKE) $(PARALLEL) -s all $(UNIT) $(BENCH) $(HELPERS)
	$(if $(filter no,$(DEPS)),,-@$(MAKE) $(PARALLEL) -s -k $(FETCHED))
	@$(if $(SLOW),tests/slow) tests/run $(B)

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
# Three of them need that, clone(2) without an exit signal or MADV_WIPEONFORK.
OTHER_TESTS = $(filter-out $(patsubst %,tests/unit/%_test.c,tls_memory $(PLAYED_TESTS) descendants hooks secret), \
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
# with time, chance, connections and signals (tests/sim/kernel.c), and the guard.
SIM_WRAPS := clock_arm clock_epoch clock_gettime clock_now clock_now_us clock_timer close dup2 \
	events_emit exit file_write gethostname getpid getrandom getuid isatty poll_wait prctl \
	signals_die signals_init signals_next socket_address socket_close socket_connect \
	socket_error socket_open socket_read socket_write terminal_is_controlling time write \
	writer_start
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

fmt: ## format the C sources in place
	@packaging/deps.sh lint
	@$(CLANG_FORMAT) -i $(wildcard src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch])

LINTS := $(addprefix lint-,format tidy gcc clang cppcheck lua shell python man layers trusted models paths tags links spelling)
lint: ## all linters, side by side; silent when all is well
	@packaging/deps.sh lint
	@$(MAKE) $(PARALLEL) -s -k -Otarget $(LINTS)

lint-format:
	$(CLANG_FORMAT) --dry-run -Werror $(wildcard src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch])
lint-tidy: $(ALL_SRC:%=build/tidy/%)
build/tidy/src/%.c: src/%.c $(HEADERS) .clang-tidy
	@mkdir -p $(@D)
	@$(CLANG_TIDY) --quiet $< -- $(DIALECT) >$@.log 2>&1 || { cat $@.log; exit 1; }
	@touch $@
lint-gcc:
	$(MAKE) VARIANT=analyze CC=gcc WERROR=1 objects
lint-clang:
	$(MAKE) VARIANT=clang CC=$(CLANG) WERROR=1 objects
objects: $(OBJ) $(ALL_SRC:%.c=$(B)/%.o) $(UNIT:%=%.o) $(FUZZ:%=%.o)
lint-cppcheck:
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -D_GNU_SOURCE \
	    -D__linux__ --enable=warning,performance,portability -Isrc src
lint-lua: $(SCRIPTS).c
	@tests/lint/scripts $(SCRIPTS)
	luac5.1 -p $(SCRIPTS)/*.lua
	luacheck --quiet --no-color $(SCRIPTS)-named/*.lua >$(SCRIPTS)/luacheck.log || \
	    { cat $(SCRIPTS)/luacheck.log; exit 1; }
	luacheck --quiet --no-color tests/sim >build/luacheck.log || \
	    { cat build/luacheck.log; exit 1; }
lint-man:
	mandoc -T lint -W warning $(PAGES)
lint-links:
	packaging/site.sh build/site
	tests/lint/links build/site
lint-shell lint-python lint-layers lint-trusted lint-models lint-paths lint-tags lint-spelling: lint-%:
	tests/lint/$*

trusted: ## the path that must be trusted: its files, and how long they are
	@tests/lint/trusted count

dist: ## build/rlockrun-VERSION.tar.gz of what is committed
	@mkdir -p build
	git archive --prefix=rlockrun-$(VERSION)/ -o build/rlockrun-$(VERSION).tar.gz HEAD

# First what would make it fail after minutes: tools, and the clock.
release: ## archive and packages of the static build, of what is committed (ARCH=arm64...)
	@packaging/deps.sh release
	@packaging/static/release.sh $(VERSION)
	@$(MAKE) --no-print-directory libraries
	@packaging/static/release.sh $(VERSION) $(LIBRARIES) $(OTHER)

image: ## an OCI layout of what make release has left, for each of amd64 and arm64
	@packaging/deps.sh image
	@packaging/static/image.sh $(VERSION)

sign: ## sign the checksums of build/rlockrun-VERSION with minisign (KEY=FILE)
	@packaging/deps.sh sign
	@packaging/sign.sh $(VERSION) $(KEY)

# A key or a date that is missing is reported before anything is compiled.
release-all: ## release for amd64 and arm64, image and, with KEY=FILE, signature; then verify
	@$(if $(KEY),packaging/deps.sh sign && packaging/sign.sh $(VERSION) $(KEY) check)
	@$(MAKE) --no-print-directory release ARCH=amd64
	@$(MAKE) --no-print-directory release ARCH=arm64
	@$(MAKE) --no-print-directory image
	@$(if $(KEY),$(MAKE) --no-print-directory sign)
	@packaging/verify.sh build/rlockrun-$(VERSION)

deb: ## a Debian package of the working tree, in build/
	@packaging/deps.sh deb
	@packaging/deb.sh $(VERSION)

site: ## the book and the manual pages as HTML: build/site/index.html
	@packaging/deps.sh site
	@packaging/site.sh build/site

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r target text; do \
	    printf '  %-14s %s\n' "$$target" "$$text"; done

.PHONY: FORCE all static install uninstall demo check check-asan check-tsan coverage check-valgrind valgrind-run check-static check-matrix check-machines check-packages night fuzz fuzz-run fuzz-merge fuzz-merge-run faults faults-selftest mutants chaos soak soak-selftest bench bench-plot \
	model sim sim-selftest tables differential fmt lint $(LINTS) \
	objects libraries unit helpers trusted dist release release-all image sign deb site clean help $(FUZZ:%=%.run) $(FUZZ:%=%.merge)
.SECONDARY:
.DELETE_ON_ERROR:
