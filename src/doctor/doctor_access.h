/* What the access rules of a server permit, feature by feature. The lock's own
 * keys are never touched: the server is asked by ACL DRYRUN, or the commands
 * are tried on a scratch key, which is deleted at once. */
#ifndef DOCTOR_ACCESS_H
#define DOCTOR_ACCESS_H

#include <stdbool.h>

#include "doctor/doctor_visit.h"

/* The name of a scratch key beside the lock of these options, to be freed. In a
 * cluster the visit must lead to it. Dies when memory is out. */
char *doctor_access_scratch(const struct opts *opts);

/* False as doctor_visit_ask, when that has been reported. */
bool doctor_access_check(struct doctor_visit *visit, const char *scratch);

#endif
