/* What --doctor examines. Each check puts facts, has them judged by rows, and
 * so adds findings, unless the visit is over; all of them die when memory is
 * out. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor/findings.h"
#include "doctor/visit.h"

/* Clocks that are kept by NTP differ by less. */
enum { CHECK_FAR_US = 1000000 };

/* As long as nobody knows whether the server has an aclfile. */
#define CHECK_SAVE_RULES "ACL SAVE with an aclfile, else CONFIG REWRITE"

/* --- check_server.c: a server --------------------------------------------- */

/* Opens the connection, and measures on it. */
void check_server_measure(struct visit *visit);
/* Opens the connection, measures on it, and describes its TLS session. */
void check_server_begin(struct visit *visit);
/* Measures once more, and adds what follows from all. */
void check_server_end(struct visit *visit);

/* Whether the server accepts writes now: not while its memory is full, its disk
 * has failed, replicas are missing, clients are paused or a script runs.
 * Without a scratch key, Redis before 7 is not asked. If it is a node of a
 * cluster, the locks must belong to it; their keys are not touched. */
void check_server_writes(struct visit *visit);

/* Pure. Adds a probe. The time is that of the server's clock; -1: not known. */
void check_server_note(struct clock *clock, int64_t sent_us, int64_t took_us,
    int64_t time_us);

/* By INFO and CONFIG GET: version, eviction, persistence, replicas and clients.
 * Fills in the identity. False when the server serves nobody now, or does not
 * reply. */
bool check_server(struct visit *visit);
/* Adds what it says to the facts. */
void check_server_ask(struct visit *visit);
/* Pure. The rows that follow from facts. */
bool check_server_rows(const char *facts, struct findings *findings);

/* --- check_access.c: what the access rules permit, feature by feature --- */

/* The name of a scratch key beside the lock of these options, to be freed. In a
 * cluster the visit must lead to it. */
char *check_access_scratch(const struct opts *opts);

/* The lock's own keys are never touched: the server is asked by ACL DRYRUN, or
 * the commands are tried on the scratch key, which is deleted at once. */
void check_access(struct visit *visit);

/* --- check_fleet.c: servers that belong together ------------------------ */

/* Which slots of a cluster are served. */
void check_fleet_slots(struct visit *visit);
/* Finds the nodes. False, and added why, if they are not known. */
bool check_fleet_nodes(struct visit *visit);

/* The sentinels of an endpoint: whether they reply, agree and have a quorum.
 * The visit, which has not begun, is a pattern, and gets the replicas that they
 * know. */
void check_fleet_sentinels(struct visit *pattern,
    const struct endpoint *endpoint);

/* Visits the replicas that the facts of the server name. */
void check_fleet_replicas(struct visit *visit);

/* Several servers (Redlock): whether they are independent of each other, and
 * whose votes count now. Adds nothing for a single one. */
void check_fleet_servers(struct identity *identities, size_t count,
    const struct opts *opts, struct findings *findings);

/* --- check_host.c: this host -------------------------------------------- */

/* What a run and its guard need of the kernel, and whether logs and metrics can
 * be written where the options send them. Changes nothing there. */
void check_host(struct findings *findings, const struct opts *opts);

#endif
