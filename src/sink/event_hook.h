/* The sink that runs --hook: HOOKS in rlockrun(1). */
#ifndef EVENT_HOOK_H
#define EVENT_HOOK_H

#include "run/events.h"

extern const struct event_sink event_hook;

#endif
