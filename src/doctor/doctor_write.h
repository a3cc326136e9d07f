/* Whether the server accepts writes now: not while its memory is full, its disk
 * has failed, replicas are missing, clients are paused or a script runs. */
#ifndef DOCTOR_WRITE_H
#define DOCTOR_WRITE_H

#include <stdbool.h>

#include "doctor/doctor_visit.h"

/* Adds an error when it does not. Without a scratch key, Redis before 7 is not
 * asked. If it is a node of a cluster, the locks must belong to it; their keys
 * are not touched. False as doctor_visit_ask, when that has been reported. */
bool doctor_write_check(struct doctor_visit *visit, const char *scratch,
    bool is_node);

#endif
