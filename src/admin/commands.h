/* The commands that look at locks of others, or act on them. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "admin/client.h"

/* --status: the holders and the waiters of a lock; --history: its last runs. */
client_command lock_show;

/* Whether jobs have succeeded in time. */
client_command check_show;

/* The locks of a server, or of a whole cluster, that are held; with --all all
 * that are known. */
client_command list_show;

/* --list --watch: the list, drawn on the terminal again and again until q, a
 * signal or the end of the terminal: then a signal's number as -N. */
client_command watch_show;

/* --hold with --token: the hold with that token lasts for so long from now, or
 * longer. */
client_command hold_extend;

/* No run of the locks that match starts, for --for; until these pauses end. */
client_command pause_locks, resume_locks;

/* Releases a lock, whoever holds it. */
client_command force_release;

#endif
