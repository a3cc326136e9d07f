/* The options of the command line, up to the command. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include "options/settings.h"

/* Returns what follows the options. Mistakes go to settings_fail. Also after
 * one, passwords are wiped from argv. Texts point into argv. */
char **command_line_read(struct settings *settings, int argc, char **argv);

#endif
