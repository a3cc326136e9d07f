/* A Redis Cluster as a whole: which slots are served, and by whom. */
#ifndef DOCTOR_CLUSTER_H
#define DOCTOR_CLUSTER_H

#include <stdbool.h>

#include "doctor/doctor_visit.h"

/* False when no node can be asked, which has been reported. */
bool doctor_cluster_check(struct doctor_visit *visit);

/* Calls each with a plain endpoint for each primary, or reports why they are
 * not known. */
void doctor_cluster_each(struct doctor_visit *visit,
    void (*each)(void *arg, const struct endpoint *node), void *arg);

#endif
