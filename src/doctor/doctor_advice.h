/* What follows from what a server says of itself: findings about version,
 * eviction, persistence, replicas and clients. */
#ifndef DOCTOR_ADVICE_H
#define DOCTOR_ADVICE_H

#include <stdbool.h>

#include "doctor/doctor_server.h"

/* False when the server serves nobody now: there is no point in asking it for
 * more. */
bool doctor_advise(const struct doctor_server *server,
    struct doctor_visit *visit);

#endif
