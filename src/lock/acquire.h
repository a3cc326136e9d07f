/* From the first try for a lock to its grant, or to a failure. */
#ifndef ACQUIRE_H
#define ACQUIRE_H

#include "lock/lock.h"

/* IDLE -> ACQUIRING: sends the first try before it returns. */
void acquire_start(struct lock *lock);

#endif
