/* Events as text for people, on stderr: messages, and on a terminal one line
 * about waiting that is drawn again and again. */
#ifndef EVENT_TEXT_H
#define EVENT_TEXT_H

#include "run/event.h"
#include "sink/level.h"

extern const struct event_sink event_text;

/* LEVEL_NONE if there is no message for the event. */
enum level event_text_level(const struct event *event);
/* Whether -q and -v let a message of that level appear on stderr. */
bool event_text_is_shown(enum level level, const struct opts *opts);

/* The message for the event, or an empty text if there is none for it. */
void event_text_format(const struct event *event, const struct opts *opts,
    char *text, size_t size);

#endif
