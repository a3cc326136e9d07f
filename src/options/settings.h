/* What has been set so far: the values, where each of them comes from, and the
 * first mistake. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

#include "options/opts.h"
#include "options/opts_table.h"

/* The higher one wins. */
enum origin {
	ORIGIN_DEFAULT,
	ORIGIN_CRON,	/* what --cron sets */
	ORIGIN_GENERAL, /* this one and the next two: configuration files */
	ORIGIN_PROFILE,
	ORIGIN_LOCK,
	ORIGIN_ENVIRONMENT,
	ORIGIN_COMMAND_LINE,
};

/* A line of a configuration file; line 0 is the whole file. */
struct place {
	const char *file;
	int line;
	int section; /* counted over all files: later ones have precedence */
	const char *section_name;
};

struct setting {
	const char *name; /* as it was given, while it is set */
	const char *text; /* the latest; NULL: none, or secret */
	enum origin origin;
	struct place place; /* of what comes from files */
};

struct settings {
	struct opts *opts;
	struct setting of[OPT_COUNT];
	int status; /* of the first mistake; the rest is ignored */
};

/* Sets the option, unless the settings are final or it has been set from a
 * higher origin. A text that is refused is a mistake. What *opts holds may
 * point into the text. */
void settings_set(struct settings *settings, enum option_id id,
    const struct setting *setting);

/* The same for a line that does not count, or not yet: nothing is set. Whether
 * there is a password in it. */
bool settings_try(struct settings *settings, enum option_id id,
    const struct setting *setting);

/* Whether the option is on the command line. */
bool settings_is_given(const struct settings *settings, enum option_id id);

/* Above 0 if the first option comes from a source with a higher precedence,
 * below 0 if the second does, otherwise 0. */
int settings_compare(const struct settings *settings, enum option_id one,
    enum option_id other);

/* Whether the option is set, and not to no. */
bool settings_counts(const struct settings *settings, enum option_id id);

/* Of the options that are one setting with this one, that which counts by the
 * highest precedence; the first of them if none counts. */
enum option_id settings_winner(const struct settings *settings,
    enum option_id id);

/* Prints the first mistake, and sets its status: EXITCODE_CONFIG if the option
 * is set by a file or by the environment, otherwise EXITCODE_USAGE. A message
 * about an option of a file begins with its place, and one about wrong usage
 * ends with the example of the option. */
void settings_fail(struct settings *settings, enum option_id id,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for what no option got wrong: a line of a configuration file, or a
 * file that an option names. Always EXITCODE_CONFIG. */
void settings_fail_at(struct settings *settings, const struct place *place,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether nothing else counts: after a mistake, or when the action only prints
 * what is built in. */
bool settings_are_final(const struct settings *settings);

#endif
