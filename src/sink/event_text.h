/* The messages for people. */
#ifndef EVENT_TEXT_H
#define EVENT_TEXT_H

#include "run/events.h"

/* Whether -q and -v let a message of that level appear on stderr. */
bool event_text_is_shown(enum level level, const struct opts *opts);

/* The message for the event, or an empty text if there is none for it. */
void event_text_format(const struct event *event, const struct facts *facts,
    char *text, size_t size);

#endif
