/* The readers of events. */
#ifndef SINKS_H
#define SINKS_H

#include "run/events.h"

/* Events as text for people, on stderr: messages, and on a terminal one line
 * about waiting that is drawn again and again. */
extern const struct event_sink event_text;

/* Events as a log: one line for each, in a file, at syslog, or as JSON on
 * stderr in place of the text. */
extern const struct event_sink event_log;

/* For Prometheus: a text file for each lock in the folder of --metrics, which
 * node_exporter's textfile collector reads. Short runs write once, when they
 * have ended; longer ones also when they have waited or held the lock for a
 * moment, when it is lost, and every half a minute. */
extern const struct event_sink metrics;

/* Runs --hook: HOOKS in rlockrun-events(7). */
extern const struct event_sink event_hook;

#endif
