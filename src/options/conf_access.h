/* Who else may write to a configuration file, or read it. Nobody else may write
 * to it: it names the server and the commands of hooks. */
#ifndef CONF_ACCESS_H
#define CONF_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>

/* The only file that may belong to a root whom we do not know: see
 * is_of_outer_root. */
#define CONF_OF_THE_HOST "/etc/rlockrun.conf"

/* NULL, or the reason why the file that was opened cannot be trusted. */
const char *conf_access_mistake(const char *path, const struct stat *status);

/* Whether anybody may read it but root and its owner. */
bool conf_access_is_readable(const struct stat *status);

#endif
