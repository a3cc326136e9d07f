/* The pause before a connection is opened anew. A server, or a proxy, that
 * hangs up soon after it has accepted would otherwise get a storm of
 * connections: no retry backs off that has a reply to each first command. */
#ifndef REST_H
#define REST_H

#include <stdbool.h>
#include <stdint.h>

struct rest {
	int64_t opened_at;
	int64_t ms;    /* the last pause, 0 if there was none */
	int64_t until; /* its end; 0: connections last */
};

/* A connection is opened. */
void rest_open(struct rest *rest, int64_t now);

/* The other side has ended it. After less than a second a pause of 100 ms is
 * due, which doubles up to 1 s, less up to 20%; otherwise none. */
void rest_hang_up(struct rest *rest, int64_t now);

/* When a connection may be opened; 0 if no pause is due, as the last one lasted
 * or as the present one has. */
int64_t rest_until(const struct rest *rest, bool is_up, int64_t now);

#endif
