/* Numbers that both sides of the protocol know: the scripts on the server, and
 * whoever sends them. The build writes each into the Lua sources by its name,
 * so each is one literal here. */
#ifndef LIMIT_H
#define LIMIT_H

/* The clocks of two servers of which one replaces the other differ by no more.
 */
#define LIMIT_CLOCKS_MS 60000
/* Waiters that one call names, to be notified. */
#define LIMIT_NOTIFY 50
/* Between two heartbeats of a waiter, and of those in the first positions. A
 * waiter is dead after three. */
#define LIMIT_HEARTBEAT_MS 5000
#define LIMIT_HEARTBEAT_NEXT_MS 800
#define LIMIT_NEXT_POSITIONS 3
/* How long an order to stop is valid: a few heartbeats of the first waiter. */
#define LIMIT_ORDER_MS 5000
/* Tickets below it are those of pauses: see acquire.lua. */
#define LIMIT_FRONT_US 1000000000000000

/* Ranges of the answers. Scripts cut what keys hold to these, so that an answer
 * out of range is never the fault of whoever wrote a key. */
#define LIMIT_TEXT 255
#define LIMIT_LONG_TEXT 1024 /* tokens, commands, names in the queue */
#define LIMIT_LABEL 256
/* A run in the history, or the entry of a holder. */
#define LIMIT_ENTRY 4096
#define LIMIT_PID 4194304
#define LIMIT_STATUS 255 /* of a run */
#define LIMIT_PERMITS 1000000
#define LIMIT_EXACT 9007199254740991 /* the last whole number of a double */
#define LIMIT_LEFT_MS 3155760000000  /* of a lease: 100 years */
#define LIMIT_AGE_MS 315619200000    /* of a holder: DURATION_MAX_MS */

#endif
