/* Where the options send logs and metrics of runs: a run goes on without them.
 */
#ifndef DOCTOR_SINKS_H
#define DOCTOR_SINKS_H

#include "doctor/findings.h"
#include "options/opts.h"

/* Changes nothing there. */
void doctor_sinks_check(struct findings *findings, const struct opts *opts);

#endif
