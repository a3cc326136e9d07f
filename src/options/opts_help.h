/* The table of options as text. Not beside the table: if gcc sees the rows
 * here, it warns for 32-bit processors of an offset that it made negative by
 * itself. */
#ifndef OPTS_HELP_H
#define OPTS_HELP_H

#include <stdbool.h>

/* Print --help, or -h, which fits a screen of 24 lines, and --dump-options to
 * stdout. 0, or -1 with errno when stdout can't take it. */
int opts_help_print(bool all);
int opts_help_print_dump(void);

#endif
