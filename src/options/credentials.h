/* Users and passwords for servers whose URLs have none: from options, the
 * environment and password files. */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include "options/settings.h"

/* Gives each server and each sentinel what it lacks, and reads the password
 * files for the first time. Mistakes go to settings_fail. */
void credentials_fill(struct settings *settings);

/* Wipes the passwords of the environment, apart from those of the servers. */
void credentials_forget(struct opts *opts);

#endif
