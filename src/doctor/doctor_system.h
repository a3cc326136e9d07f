/* This host: what a run and its guard need of the kernel. */
#ifndef DOCTOR_SYSTEM_H
#define DOCTOR_SYSTEM_H

#include "doctor/findings.h"

void doctor_system_check(struct findings *findings);

#endif
