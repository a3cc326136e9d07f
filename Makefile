# Builds, installs and shows rlockrun: `make help`. GNU make; hiredis by pkg-config.
# What tests it is in tests/tests.mk, the linters in tests/lint/lint.mk, and what makes
# packages and releases in packaging/release.mk.

# `make -f FOLDER/Makefile` does in that folder what it is asked to.
THIS := $(lastword $(MAKEFILE_LIST))
ifneq ($(THIS),$(notdir $(THIS)))
$(or $(MAKECMDGOALS),all): elsewhere ; @:
elsewhere: ; @$(MAKE) --no-print-directory -C $(dir $(THIS)) $(MAKECMDGOALS)
.PHONY: elsewhere $(MAKECMDGOALS)
else

$(if $(filter Linux,$(shell uname -s)),,$(error rlockrun is for Linux only))

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
# Debian's fish ignores /usr/local/share.
FISHCOMPDIR ?= $(if $(filter /usr/local,$(PREFIX)),$(SYSCONFDIR)/fish/completions,$(PREFIX)/share/fish/vendor_completions.d)
DOCDIR ?= $(PREFIX)/share/doc/rlockrun
# Of the host's configuration, rlockrun.conf.
SYSCONFDIR ?= /etc
# Of systemd units: without it none are installed.
UNITDIR ?=

# One folder of objects for each variant: release, static, asan, coverage, fuzz,
# faults, analyze, clang. tests.mk and lint.mk have the flags of those of their own.
VARIANT ?= release

# `make static ARCH=arm64` cross-compiles for what Debian calls so. OTHER is empty if
# that is the architecture of this machine. In an environment ARCH is meant for others,
# such as the kernel's Makefile.
ARCH :=
OTHER := $(if $(ARCH),$(shell packaging/static/target.sh $(ARCH) other || echo unknown))
$(if $(filter unknown,$(OTHER)),$(error ARCH=$(ARCH) is unknown))

B := build/$(VARIANT)$(if $(filter static,$(VARIANT)),$(OTHER:%=-%))

# Packagers may bring a level of their own, and without -O it is a warning.
FORTIFY = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if \
	$(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))

FLAGS_release = $(FORTIFY)
# gcc notes for i386 that the alignment of 64-bit atomics differs from that of gcc 10.
FLAGS_static = -fno-pie -ffile-prefix-map=$(CURDIR)=. $(if $(filter i386,$(OTHER)),-Wno-psabi)
# Not position-independent: relocating OpenSSL's tables would take a fifth of a run.
LINK_static := -static -no-pie

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
pkg = $(if $(shell $(PKG_CONFIG) --exists $(2) && echo yes),$(shell $(PKG_CONFIG) $(1) $(2)),$(error \
	$(2) not found, `packaging/deps.sh build` installs it))
HEADERS = $(eval HEADERS := $$(filter-out -isystem/usr/include,$$(patsubst -I%,-isystem%,$$(patsubst \
	%/hiredis,%,$$(call pkg,--cflags,hiredis)) $$(call pkg,--cflags,libssl))))$(HEADERS)
HIREDIS_LIBS = $(eval HIREDIS_LIBS := $$(call pkg,--libs,hiredis))$(HIREDIS_LIBS)
HIREDIS_ARCHIVE := -l:libhiredis.a
find_archive = $(shell $(CC) -r -nostdlib -o /dev/null $(filter -L%,$(HIREDIS_LIBS)) \
	$(HIREDIS_ARCHIVE) >/dev/null 2>&1 && echo static)
HIREDIS_TAKEN = $(eval HIREDIS_TAKEN := $$(or \
	$$(filter shared,$$(or $$(HIREDIS),$$(VARIANT:faults=shared))),$$(find_archive),$$(if \
	$$(HIREDIS),$$(error HIREDIS=static, but the linker finds no libhiredis.a),shared)))$(HIREDIS_TAKEN)
OPENSSL_TAKEN = $(if $(filter static,$(VARIANT)),static build$(PATCHES),$(if \
	$(filter linked,$(TLS)),linked,loaded when a URL asks for TLS))
# Of OpenSSL in `make static`: a mirror may lack Debian's patches.
PATCHES = $(eval PATCHES := $$(shell sed -n "s/^openssl: Debian's openssl \([^,]*\),.*/, patches of Debian \1/p; \
	s/^openssl: .*, without the patches .*/, without patches of Debian/p" \
	$$(LIBRARIES)/licences/VERSIONS 2>/dev/null))$(PATCHES)
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
HEADERS := -isystem $(LIBRARIES)/include
LIBS := $(addprefix $(LIBRARIES)/lib/lib,hiredis.a ssl.a crypto.a)
STAMP := $(LIBRARIES)/stamp
endif

DIALECT = -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -DRLOCKRUN_VERSION='"$(VERSION)"' \
	-DRLOCKRUN_HIREDIS='"$(HIREDIS_TAKEN) library"' -DRLOCKRUN_OPENSSL='"$(OPENSSL_TAKEN)"' \
	-DRLOCKRUN_SYSCONFDIR='"$(SYSCONFDIR)"' -Isrc $(HEADERS)
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

# Our own sub-makes use all cores unless the user said how many.
PARALLEL = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))

all: $(B)/rlockrun ## build build/release/rlockrun (default)

static: libraries ## build build/static/rlockrun, which runs on any Linux (ARCH=arm64...)
	@$(MAKE) $(PARALLEL) -s VARIANT=static all

libraries:
	@packaging/deps.sh static $(OTHER)
	@$(if $(OTHER),packaging/static/compiler.sh build/cross/$(OTHER) $(OTHER))
	@MUSL_CC=$(MUSL_CC) packaging/static/libraries.sh $(LIBRARIES) $(OTHER)

$(B)/rlockrun: $(OBJ)
	$(CC) $(ALL_LDFLAGS) -o $@ $(OBJ) $(LIBS)
	@echo '$@: hiredis: $(HIREDIS_TAKEN) library; OpenSSL: $(OPENSSL_TAKEN)'

# With another choice of libraries these are made anew, and with another SYSCONFDIR.
$(addprefix $(B)/src/,redis/value.o redis/tls/tls.o options/conf.o options/conf_files.o \
	options/opts_parse.o options/opts_check.o doctor/rows.o) $(B)/rlockrun: $(B)/taken
TAKEN = $(HIREDIS_TAKEN), $(OPENSSL_TAKEN), $(SYSCONFDIR)
$(B)/taken: FORCE
	@mkdir -p $(@D)
	@echo '$(TAKEN)' | cmp -s - $@ || echo '$(TAKEN)' >$@
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
UNITS := $(if $(UNITDIR),$(wildcard packaging/systemd/*))
# With PREFIX=/, as in the archive of a release, the tree may be moved elsewhere: then
# systemd looks for the program in /usr/local/bin and /usr/bin.
UNIT_PROGRAM = $(if $(filter /,$(PREFIX)),,$(BINDIR)/)rlockrun
# What is installed names the paths of this installation.
NAMED = $(patsubst %,$(DESTDIR)%,$(foreach page,$(PAGES),$(call MANUAL,$(page))) $(BASHCOMPDIR)/rlockrun \
	$(ZSHCOMPDIR)/_rlockrun $(FISHCOMPDIR)/rlockrun.fish $(EXAMPLES:packaging/%=$(DOCDIR)/%) \
	$(UNITS:packaging/systemd/%=$(UNITDIR)/%))

install: all ## install program, man pages, completions, examples, units (PREFIX UNITDIR)
	install -Dm755 $(B)/rlockrun $(DESTDIR)$(BINDIR)/rlockrun
	$(foreach page,$(PAGES),install -Dm644 $(page) $(DESTDIR)$(call MANUAL,$(page)) && ):
	install -Dm644 completions/rlockrun.bash $(DESTDIR)$(BASHCOMPDIR)/rlockrun
	install -Dm644 completions/_rlockrun $(DESTDIR)$(ZSHCOMPDIR)/_rlockrun
	install -Dm644 completions/rlockrun.fish $(DESTDIR)$(FISHCOMPDIR)/rlockrun.fish
	install -d $(DESTDIR)$(DOCDIR)/examples
	install -m644 $(filter-out %.sh,$(EXAMPLES)) $(DESTDIR)$(DOCDIR)/examples
	install -m755 $(filter %.sh,$(EXAMPLES)) $(DESTDIR)$(DOCDIR)/examples
	$(if $(UNITS),install -d $(DESTDIR)$(UNITDIR) && install -m644 $(UNITS) $(DESTDIR)$(UNITDIR))
	sed -i 's|@BINDIR@/rlockrun|$(UNIT_PROGRAM)|; s|/etc/rlockrun\.conf|$(SYSCONFDIR)/rlockrun.conf|g$(if \
	    $(filter /,$(PREFIX)),,; s|/usr/local/bin/rlockrun|$(BINDIR)/rlockrun|g)' $(NAMED)

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
check: ## the everyday tests (TESTS, FILTER, TAGS, TOPOLOGY choose; DEPS=no SLOW=1)
	@$(if $(filter no,$(DEPS)),,packaging/deps.sh check sim)
	@$(MAKE) $(PARALLEL) -s all $(UNIT) $(BENCH) $(HELPERS)
	$(if $(filter no,$(DEPS)),,-@$(MAKE) $(PARALLEL) -s -k $(FETCHED))
	@$(if $(SLOW),tests/slow) tests/run $(B)

fmt: ## format the C sources in place
	@packaging/deps.sh lint
	@$(CLANG_FORMAT) -i $(wildcard src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch])

lint: ## all linters, side by side; silent when all is well
	@packaging/deps.sh lint
	@$(MAKE) $(PARALLEL) -s -k -Otarget $(LINTS)

clean: ## remove build/
	rm -rf build

include tests/tests.mk tests/lint/lint.mk packaging/release.mk

help: ## these targets
	@$(call list,Makefile)
	@echo
	@echo '  Variables: PREFIX SYSCONFDIR UNITDIR DESTDIR CC CFLAGS LDFLAGS WERROR=1 HIREDIS=static|shared TLS=loaded|linked'
	@echo '  Sanitizers, chaos, mutants, fuzzing, figures, packages, releases: make help-all'

help-all: ## all targets
	@$(foreach file,$(filter-out %.d,$(MAKEFILE_LIST)),$(call list,$(file)); echo;)

list = sed -n 's/^\([a-z-]*\):.*\#\# /\1 /p' $(1) | while read -r target text; do \
	printf '  %-15s %s\n' "$$target" "$$text"; done

.PHONY: FORCE all static libraries install uninstall demo check fmt lint clean help help-all
.SECONDARY:
.DELETE_ON_ERROR:
endif
