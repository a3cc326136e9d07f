/* What a TLS session came to. */
#ifndef TLS_SESSION_H
#define TLS_SESSION_H

#include "redis/tls.h"
#include "redis/tls_context.h"

/* Of a session whose handshake is done. */
void tls_session_describe(const struct library *lib, const SSL *ssl,
    struct tls_session *session);

#endif
