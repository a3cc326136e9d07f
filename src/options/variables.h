/* Variables of the environment that look like ours and are not: misspelt ones,
 * and those of options that only the command line has. */
#ifndef VARIABLES_H
#define VARIABLES_H

/* Warns of each, without its value. Those that are set for a job or a hook are
 * ours. */
void variables_warn_unknown(void);

#endif
