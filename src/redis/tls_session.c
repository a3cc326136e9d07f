#include "redis/tls_session.h"

#include <stdio.h>

enum { DAY_S = 24 * 60 * 60 };

static void
note_expiry(const struct library *lib, const X509 *certificate,
    struct tls_expiry *expiry)
{
	int days, seconds;

	expiry->known = certificate != NULL &&
			lib->ASN1_TIME_diff(&days, &seconds, NULL,
			    lib->X509_get0_notAfter(certificate)) == 1;
	if (expiry->known)
		expiry->in_s = (int64_t)days * DAY_S + seconds;
}

/* The chain of a client begins with the certificate of the server. A function
 * for that one alone has one name in OpenSSL 1.1 and another one in 3. */
static const X509 *
server_certificate(const struct library *lib, const SSL *ssl)
{
	const OPENSSL_STACK *chain =
	    (const OPENSSL_STACK *)lib->SSL_get_peer_cert_chain(ssl);

	if (chain == NULL || lib->OPENSSL_sk_num(chain) < 1)
		return NULL;
	return lib->OPENSSL_sk_value(chain, 0);
}

void
tls_session_describe(const struct library *lib, const SSL *ssl,
    struct tls_session *session)
{
	const char *protocol = lib->SSL_get_version(ssl);
	const char *cipher =
	    lib->SSL_CIPHER_get_name(lib->SSL_get_current_cipher(ssl));

	*session = (struct tls_session){.protocol = ""};
	snprintf(session->protocol, sizeof(session->protocol), "%s", protocol);
	snprintf(session->cipher, sizeof(session->cipher), "%s",
	    cipher != NULL ? cipher : "");
	note_expiry(lib, server_certificate(lib, ssl), &session->server_expiry);
	note_expiry(lib, lib->SSL_get_certificate(ssl), &session->own_expiry);
}
