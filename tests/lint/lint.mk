# The linters, and what counts the source.

FLAGS_analyze := -fanalyzer
LINTS := $(addprefix lint-,format tidy gcc clang cppcheck lua shell python man layers trusted models paths tags links spelling)

lint-format:
	$(CLANG_FORMAT) --dry-run -Werror $(wildcard src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch])
# Each file once, and again when it or a header that it includes has changed. The analyzer
# gives a function up after so many states, in a quarter of the time of its default
# (225,000): of 6,288 blocks it then reaches 8 fewer.
TIDY_BOUND := -Xclang -analyzer-config -Xclang max-nodes=60000
lint-tidy: $(ALL_SRC:%.c=build/tidy/%.ok)
build/tidy/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	@$(CLANG) -MM -MP -MT $@ -MF $(@:.ok=.d) $(DIALECT) $<
	@$(CLANG_TIDY) --quiet $< -- $(DIALECT) $(TIDY_BOUND) >$@.log 2>&1 || { cat $@.log; exit 1; }
	@touch $@
ifneq ($(filter lint%,$(MAKECMDGOALS)),)
-include $(ALL_SRC:%.c=build/tidy/%.d)
endif
# What a compiler warns of at -O2, each build shows with WERROR=1. The analyzer sees the
# same at -O1, in less time, but how long a text may be gcc knows only at -O2. clang warns
# before it optimizes.
lint-gcc:
	$(MAKE) VARIANT=analyze CC=gcc WERROR=1 CFLAGS="-O1 -Wno-format-truncation" objects
lint-clang:
	$(MAKE) VARIANT=clang CC=$(CLANG) WERROR=1 CFLAGS=-O0 objects
objects: $(OBJ) $(ALL_SRC:%.c=$(B)/%.o) $(UNIT:%=%.o) $(FUZZ:%=%.o)
lint-cppcheck:
	@mkdir -p build/cppcheck
	cppcheck --quiet --cppcheck-build-dir=build/cppcheck --error-exitcode=1 --std=c11 \
	    --inline-suppr -D_GNU_SOURCE -D__linux__ \
	    --enable=warning,performance,portability -Isrc src
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
	packaging/site.py build/site
	tests/lint/links build/site
lint-shell lint-python lint-layers lint-trusted lint-models lint-paths lint-tags lint-spelling: lint-%:
	tests/lint/$*

trusted: ## the path that must be trusted: its files, and how long they are
	@tests/lint/trusted count

.PHONY: $(LINTS) objects trusted
