/* What has been set so far: the values, where each of them comes from, and the
 * first mistake. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

#include "app/opts.h"
#include "app/opts_table.h"

/* The higher one wins. */
enum origin { ORIGIN_DEFAULT, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

/* What getopt_long returns for long options: this and up. */
enum { SETTINGS_LONG_OPTION = 256 };

struct settings {
	struct opts *opts;
	enum origin origins[OPT_COUNT];
	int given;  /* what getopt_long returned for this option */
	int status; /* of the first mistake; the rest is ignored */
};

/* Sets the option from text, unless it has been set from a higher origin, after
 * a mistake, or when opts->action only prints what is built in. A text that is
 * refused is a mistake. What *opts holds may point into text. */
void settings_set(struct settings *settings, enum option_id id,
    const char *text, enum origin origin);

/* Prints the first mistake, and sets its status: EXITCODE_CONFIG if the option
 * is set by the environment or names a file, otherwise EXITCODE_USAGE. */
void settings_fail(struct settings *settings, enum option_id id,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The option as it was given, or the variable; to be freed. */
char *settings_name(const struct settings *settings, enum option_id id,
    enum origin origin);

/* Whether the action only prints what is built in: then nothing else counts. */
bool settings_are_ignored(const struct settings *settings);

#endif
