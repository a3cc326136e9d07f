/* The sentinels of a primary: whether they reply, agree and have a quorum. */
#ifndef DOCTOR_SENTINELS_H
#define DOCTOR_SENTINELS_H

#include "doctor/doctor_visit.h"

/* The endpoint is one with sentinels. The visit is only used as a pattern. */
void doctor_sentinels_compare(const struct doctor_visit *visit,
    const struct endpoint *endpoint);

#endif
