/* --doctor: examines what a run would depend on, the servers and this host, and
 * says how to mend what is wrong. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "base/loop.h"
#include "options/opts.h"

/* The exit code: 0 if all is well, 1 after warnings, else that of a run. */
int doctor(const struct opts *opts, struct loop *loop);

#endif
