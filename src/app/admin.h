/* Look and act: --status, --list, --force-release. No job, no lock of our own.
 * Signals do what they do to a plain process. */
#ifndef ADMIN_H
#define ADMIN_H

#include "app/opts.h"

/* Does opts->action, one of these three. The exit code. */
int admin(const struct opts *opts);

#endif
