/* --list --watch: what a server knows of its locks, drawn on the terminal again
 * and again until q, a signal or the end of the terminal. */
#ifndef WATCH_H
#define WATCH_H

#include "admin/client.h"

/* The exit code, or a signal's number as -N. */
int watch_show(struct client *client);

#endif
