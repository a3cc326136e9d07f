/* The options of a run, or of what else is to be done: checked, and with all
 * defaults filled in. */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/config.h"
#include "redis/password_file.h"
#include "redis/url.h"

/* The last words of a message about a run that ends before its job starts. */
#define OPTS_NOT_STARTED "command not started"

/* What is said of a run on the default server, which nobody has named. */
#define OPTS_NO_SERVER                                                        \
	"no server is configured: each host uses its own localhost, and the " \
	"job runs on all of them"

#define OPTS_WAIT_FOREVER (-1)
#define OPTS_KEY_MAX 1024 /* bytes, prefix included */
#define OPTS_KEYS_MAX 32  /* each takes a connection */
#define OPTS_SERVERS_MAX 15
#define OPTS_HOOKS_MAX 16

#define OPTS_TEXT_OF(limit) OPTS_TEXT_EXPANDED(limit)
#define OPTS_TEXT_EXPANDED(limit) #limit

enum opts_action {
	OPTS_RUN,
	OPTS_HELP,
	OPTS_VERSION,
	OPTS_DUMP,
	OPTS_STATUS,
	OPTS_LIST,
	OPTS_HISTORY,
	OPTS_CHECK,
	OPTS_FORCE_RELEASE,
	OPTS_HOLD,
	OPTS_PAUSE,
	OPTS_RESUME,
	OPTS_DOCTOR,
	OPTS_SHOW_CONFIG,
};

/* A line about waiting that is drawn again and again. */
enum opts_progress {
	OPTS_PROGRESS_AUTO, /* where stderr is a terminal that is ours */
	OPTS_PROGRESS_ALWAYS,
	OPTS_PROGRESS_NEVER,
};

/* Without a server; by the order of the words. */
enum opts_unavailable {
	OPTS_UNAVAILABLE_FAIL,
	OPTS_UNAVAILABLE_RUN, /* without the lock */
	OPTS_UNAVAILABLE_SKIP,
};

/* Events that run hooks: HOOKS in rlockrun-events(7). */
enum opts_hook_event {
	OPTS_HOOK_BUSY,
	OPTS_HOOK_WAITING,
	OPTS_HOOK_ACQUIRED,
	OPTS_HOOK_SLOW,
	OPTS_HOOK_LOSING,
	OPTS_HOOK_LOST,
	OPTS_HOOK_RELEASED,
	OPTS_HOOK_FAILED,
	OPTS_HOOK_OVERTAKEN,
	OPTS_HOOK_REPLACED,
	OPTS_HOOK_PAUSED,
	OPTS_HOOK_EVENTS,
};

struct opts_hook {
	unsigned events;  /* as bits */
	const char *text; /* as it was given, so long */
	size_t length;
	const char *command; /* the last part of it */
	int line;	     /* of the file that sets it, or 0 */
};

struct opts_key {
	const char *name; /* as the user gave it */
	char *key;	  /* prefix and name */
};

struct opts_login {
	const char *user;
	const char *password_file;
	struct password_file file; /* once it was read */
	char *password;		   /* of the environment; wiped by opts_parse */
};

struct opts {
	enum opts_action action;
	/* What is asked of each lock; its key, name and server are not set. */
	struct lock_config lock;
	const char *prefix;		     /* of --prefix, or empty */
	struct opts_key keys[OPTS_KEYS_MAX]; /* as given, none twice */
	size_t key_count;
	char *names; /* of all keys, one a line, for the job */
	/* One, or independent ones of which a majority decides. */
	struct endpoint servers[OPTS_SERVERS_MAX];
	size_t server_count;
	struct opts_login login, sentinel_login;
	const char *tls_ca, *tls_cert, *tls_key; /* PEM files, or NULL */
	int64_t wait_ms;       /* OPTS_WAIT_FOREVER, or 0 and up */
	int64_t kill_after_ms; /* default min(ttl/6, 5 s) filled in */
	bool exclusive, shared, nonblock; /* become lock.kind and wait_ms */
	int64_t min_hold_ms;		  /* 0: none */
	int64_t splay_ms;		  /* 0: none */
	int64_t max_run_ms;		  /* 0: without limit */
	int64_t warn_after_ms;		  /* 0: never */
	struct opts_hook hooks[OPTS_HOOKS_MAX]; /* in this order */
	size_t hook_count;
	int conflict_exit;   /* -E: of each skip */
	bool cron;	     /* its settings are filled in */
	char *cut_label;     /* what lock.label points to if it was longer */
	int progress;	     /* enum opts_progress */
	int log_json;	     /* 1: --log-format json */
	const char *log_to;  /* "syslog" or a file; NULL: stderr */
	const char *metrics; /* folder, or empty */
	char
	    *metrics_folder; /* without slashes at its end: they follow links */
	/* On the command line: what cannot be had ends the run. */
	bool log_demanded, metrics_demanded, hook_demanded;
	bool quiet;
	bool verbose;
	bool wait_all;
	int lost_warn;		   /* 1: --on-lost warn */
	int on_unavailable;	   /* enum opts_unavailable */
	const char *shell_command; /* -c, else NULL */
	char *shell[4];		   /* $SHELL -c STRING */
	char **command; /* NULL-terminated; with -c that of the shell */
	char **globs;	/* where they are allowed, NULL-terminated */
	bool all;	/* free locks, too: --list --all, --check */
	bool failed;	/* --list: only those whose last run has failed */
	bool summary;	/* of OPTS_HELP */
	bool json;
	bool yes;
	const char *token;     /* NULL when not given */
	int64_t older_than_ms; /* 0 when not given */
	int64_t watch_ms;      /* likewise */
	const char *glob;      /* of --pause or --resume */
	int64_t pause_ms;      /* --for; lock.ttl_ms is that of its grants */
	const char *config;    /* file, "none", or NULL: the usual files */
	const char *profile;   /* NULL or empty: none */
	char *file_texts;      /* values of configuration files */
	char *shown;	       /* by --show-config, otherwise NULL */
};

#endif
