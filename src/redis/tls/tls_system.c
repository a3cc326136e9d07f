/* The OpenSSL of this system, loaded or linked: openssl.cnf has the policy, and
 * it knows where the certificates are. */
#include "redis/tls/tls_context.h"

const int tls_library_level = -1;

uint64_t
tls_library_prepare(void)
{
	return 0;
}

int
tls_library_trust_folder(const struct library *lib, SSL_CTX *ctx, char *error)
{
	(void)error;
	lib->SSL_CTX_set_default_verify_dir(ctx);
	return 0;
}

int
tls_library_trust_file(const struct library *lib, X509_STORE *store)
{
	return lib->X509_STORE_set_default_paths(store) == 1 ? 0 : -1;
}
