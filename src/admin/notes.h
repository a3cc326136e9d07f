/* What has happened to a lock beside its runs: skipped runs and why, pauses
 * that have ended, orders to stop, forced releases. So whoever asks why a job
 * did not run is answered on any host. */
#ifndef NOTES_H
#define NOTES_H

#include "admin/query.h"

/* To stdout, a line for each, the newest first. */
void notes_print(const struct look *look);

#endif
