/* Test Anything Protocol: one numbered line for each check, diagnostics on
 * lines that begin with '#'. End main with `return tap_done();`. */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static int tap_count, tap_failed;

/* Returns passed, so that callers can say more about a failure. */
__attribute__((format(printf, 2, 3))) static inline bool
ok(bool passed, const char *format, ...)
{
	va_list arguments;

	tap_failed += !passed;
	printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	return passed;
}

static inline void
is_int(int64_t got, int64_t want, const char *what)
{
	if (!ok(got == want, "%s", what))
		printf("# got %" PRId64 ", want %" PRId64 "\n", got, want);
}

/* NULL is a value, too. */
static inline void
is_text(const char *got, const char *want, const char *what)
{
	bool same = got == want ||
		    (got != NULL && want != NULL && strcmp(got, want) == 0);

	if (!ok(same, "%s", what))
		printf("# got  %s\n# want %s\n", got != NULL ? got : "(NULL)",
		    want != NULL ? want : "(NULL)");
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed > 0;
}

#endif
