/* Memory for OpenSSL in a static build. It makes ten thousand small objects to
 * begin with, for which musl's malloc takes three hundred system calls. */
#ifndef TLS_MEMORY_H
#define TLS_MEMORY_H

/* To be called before anything else of OpenSSL; again, it does nothing. */
void tls_memory_provide(void);

#endif
