/* How the server is asked for each command: by a harmless one. */
#ifndef DOCTOR_COMMANDS_H
#define DOCTOR_COMMANDS_H

#include <stdbool.h>

#include "lock/needs.h"

/* Stands for the key in the words of a command. */
#define DOCTOR_COMMANDS_KEY "\001"

/* Without pointers, which the loader would have to adjust at the start of each
 * run. */
extern const struct doctor_command {
	/* With '|' between; harmless if the key holds a string. Empty: not
	 * asked for. */
	char words[36];
	bool creates; /* a key, if there is none */
} doctor_commands[NEEDS_COMMANDS];

#endif
