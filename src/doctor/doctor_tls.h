/* The TLS session with a server, and whether a password travels without one. */
#ifndef DOCTOR_TLS_H
#define DOCTOR_TLS_H

#include "doctor/doctor_visit.h"

/* To be called while the connection is up. */
void doctor_tls_describe(struct doctor_visit *visit);

#endif
