/* --hold with --token: extends a hold. */
#ifndef HOLD_EXTEND_H
#define HOLD_EXTEND_H

#include "admin/client.h"

/* The hold with that token lasts for so long from now, or longer. The exit
 * code.
 */
int hold_extend(struct client *client);

#endif
