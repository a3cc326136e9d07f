/* The findings of --doctor: as text, in colour on a terminal, or as one line of
 * JSON. Print to stdout; ferror(3) shows a failure. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stddef.h>

#include "doctor/findings.h"

/* Those from that index on, below their subject; then, at the end, how many
 * there are in all. */
void doctor_report_text(const struct findings *findings, size_t from);
void doctor_report_summary(const struct findings *findings);

void doctor_report_json(const struct findings *findings, int status);

#endif
