/* The table of options. The command line, the environment, --help and
 * --dump-options come from it. */
#ifndef OPTS_TABLE_H
#define OPTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options/opts.h"

enum { OPTS_SHORTS_MAX = 2, OPTS_LONGS_MAX = 3 };

enum option_id {
	OPT_KEY,
	OPT_EXCLUSIVE,
	OPT_SHARED,
	OPT_PERMITS,
	OPT_TTL,
	OPT_MIN_HOLD,
	OPT_KEEP_HISTORY,
	OPT_ONCE_PER,
	OPT_ONCE_ID,
	OPT_EXPECT,
	OPT_NONBLOCK,
	OPT_WAIT,
	OPT_MAX_WAITERS,
	OPT_NEWEST,
	OPT_REPLACE,
	OPT_REPLACEABLE,
	OPT_CONFLICT_EXIT_CODE,
	OPT_CRON,
	OPT_QUIET,
	OPT_SPLAY,
	OPT_COMMAND,
	OPT_LABEL,
	OPT_WAIT_ALL,
	OPT_MAX_RUN,
	OPT_WARN_AFTER,
	OPT_HOOK,
	OPT_ON_LOST,
	OPT_KILL_AFTER,
	OPT_ON_UNAVAILABLE,
	OPT_SERVER_TIMEOUT,
	OPT_REDIS,
	OPT_REDIS_URL,
	OPT_MIN_UPTIME,
	OPT_WAIT_REPLICAS,
	OPT_PREFIX,
	OPT_USER,
	OPT_PASSWORD_FILE,
	OPT_PASSWORD,
	OPT_NO_PASSWORD,
	OPT_SENTINEL_USER,
	OPT_SENTINEL_PASSWORD_FILE,
	OPT_SENTINEL_PASSWORD,
	OPT_TLS_CA,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_STATUS,
	OPT_LIST,
	OPT_ALL,
	OPT_FAILED,
	OPT_HISTORY,
	OPT_CHECK,
	OPT_FORCE_RELEASE,
	OPT_HOLD,
	OPT_PAUSE,
	OPT_FOR,
	OPT_RESUME,
	OPT_DOCTOR,
	OPT_JSON,
	OPT_OLDER_THAN,
	OPT_WATCH,
	OPT_TOKEN,
	OPT_YES,
	OPT_VERBOSE,
	OPT_LOG_FORMAT,
	OPT_LOG_TO,
	OPT_PROGRESS,
	OPT_METRICS,
	OPT_CONFIG,
	OPT_PROFILE,
	OPT_SHOW_CONFIG,
	OPT_HELP,
	OPT_VERSION,
	OPT_DUMP,
	OPT_NO_UNLOCK,
	OPT_NO_CLOSE,
	OPT_NO_FORK,
	OPT_NO_FCNTL,
	OPT_COUNT,
};

/* How the text of a setting becomes a value. */
enum opts_type {
	OPTS_SWITCH,
	OPTS_CHOICE, /* a word of the argument: becomes its place in it */
	OPTS_TEXT,
	OPTS_NUMBER,
	OPTS_DURATION,
	OPTS_KEY,
	OPTS_SERVER,
	OPTS_FALLBACK_SERVER,
	OPTS_REPLICAS,
	OPTS_HOOK,
	OPTS_PASSWORD,
	OPTS_REFUSED,
	OPTS_ACTION,
};

/* Options that are one setting: only one of them counts. */
enum opts_group { OPTS_ALONE, OPTS_KINDS, OPTS_WAITS };

/* Why a run, or what else is to be done, cannot have an option: opts_check.c
 * has when, and in which words. */
enum opts_obstacle {
	OPTS_NOT_EXCLUSIVE,
	OPTS_SEVERAL_KEYS,
	OPTS_SEVERAL_SERVERS,
	OPTS_NO_KIND_THERE, /* on several servers, as the next two */
	OPTS_NO_HISTORY_THERE,
	OPTS_NO_QUEUE_THERE,
	OPTS_NO_HISTORY,
	OPTS_NO_WAIT,
	OPTS_MIN_HOLD,
	OPTS_NO_TLS,
	OPTS_LISTS_FAILED,
	OPTS_LISTS_ALL,
	OPTS_LISTS_JSON,
	OPTS_LISTS_NOTHING,
	OPTS_OBSTACLES,
};

/* A setting. A text that is empty does not exist: without longs, environment
 * only; without variable, command line only; without help, hidden. Texts are
 * part of the row, so that no pointer to them has to be relocated. */
struct opts_row {
	char section[32]; /* which begins here */
	char shorts[OPTS_SHORTS_MAX + 1];
	bool once;			/* on the command line */
	bool secret;			/* never quoted */
	bool outside;			/* in no configuration file */
	char longs[OPTS_LONGS_MAX][24]; /* the first is the main one */
	char argument[24];		/* none: a switch */
	char implied[8];		/* where the argument may be left out */
	char preset[24];		/* the default */
	char cron[8];			/* that of a run with --cron */
	char variable[32];
	char help[48];
	bool common;	  /* one of those that -h shows */
	char example[48]; /* of a correct use: "rlockrun EXAMPLE", to which a
			   * run adds -k NAME COMMAND if it has no -k */
	enum opts_type type;
	enum opts_group group;
	size_t field;	  /* offset in struct opts */
	int64_t min, max; /* of a text: bytes */
	char mistake[80]; /* the reason, for what is not in that range */
	enum opts_action action;
	/* On the command line only with these actions, as bits, and in words;
	 * without words, the option and any other action exclude each other. */
	unsigned with;
	char with_names[64];
	/* Obstacles, as bits: those to the option on the command line, and
	 * those to a run or a hold that has it from anywhere. */
	unsigned given_not, never;
};

#define OPTS_BIT(action_or_obstacle) (1U << (action_or_obstacle))

extern const struct opts_row opts_table[OPT_COUNT];

/* Whether configuration files may set the option, by its long names. */
bool opts_row_is_in_files(const struct opts_row *row);

#endif
