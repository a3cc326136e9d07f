/* Events as a log: one line for each, in a file, at syslog, or as JSON on
 * stderr in place of the text. */
#ifndef EVENT_LOG_H
#define EVENT_LOG_H

#include "run/events.h"

extern const struct event_sink event_log;

#endif
