/* The commands that look at locks of others, or act on them. Each is called for
 * each of the servers, by client_visit_servers, and returns an exit code. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "admin/client.h"

/* --status: the holders and the waiters of a lock. */
int status_show(struct client *client);

/* --history: the last runs of a lock. */
int history_show(struct client *client);

/* --check: whether jobs have succeeded in time. */
int check_show(struct client *client);

/* --list: the locks of a server, or of a whole cluster, that are held; with
 * --all all that are known. */
int list_show(struct client *client);

/* --list --watch: the list, drawn on the terminal again and again until q, a
 * signal or the end of the terminal: then a signal's number as -N. */
int watch_show(struct client *client);

/* --hold with --token: the hold with that token lasts for so long from now, or
 * longer. */
int hold_extend(struct client *client);

/* --pause: no run of the locks that match starts, for --for. */
int pause_locks(struct client *client);

/* --resume: ends the pauses of the locks that match. */
int resume_locks(struct client *client);

/* --force-release: releases a lock, whoever holds it. */
int force_release(struct client *client);

#endif
