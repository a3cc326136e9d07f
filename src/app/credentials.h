/* Users and passwords for servers whose URLs have none: from options, the
 * environment and password files. Such a file is one line of at most 4096
 * bytes, in a regular file or a pipe that others can neither read nor write. */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include "app/settings.h"

/* Gives each server and each sentinel what it lacks. Mistakes go to
 * settings_fail. */
void credentials_fill(struct settings *settings);

/* Wipes the passwords in opts apart from those of the servers. */
void credentials_forget(struct opts *opts);

#endif
