/* The Lua scripts that only commands send, as those of lock/script.h: each
 * stands in script/NAME.lua, headed by what its keys, arguments and answers
 * are. */
#ifndef ADMIN_SCRIPT_H
#define ADMIN_SCRIPT_H

#include "redis/script.h"

extern const struct script script_look;
extern const struct script script_force;
extern const struct script script_pause;

#endif
