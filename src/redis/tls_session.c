#include "redis/tls_session.h"

#include <stdio.h>

enum { DAY_S = 24 * 60 * 60 };

/* The chain of a client begins with the certificate of the server. A function
 * for that one alone has one name in OpenSSL 1.1 and another one in 3. */
static void
note_expiry(const struct library *lib, const SSL *ssl,
    struct tls_session *session)
{
	const OPENSSL_STACK *chain =
	    (const OPENSSL_STACK *)lib->SSL_get_peer_cert_chain(ssl);
	int days, seconds;

	if (chain == NULL || lib->OPENSSL_sk_num(chain) < 1)
		return;
	session->expiry_known =
	    lib->ASN1_TIME_diff(&days, &seconds, NULL,
		lib->X509_get0_notAfter(lib->OPENSSL_sk_value(chain, 0))) == 1;
	if (session->expiry_known)
		session->expires_in_s = (int64_t)days * DAY_S + seconds;
}

void
tls_session_describe(const struct library *lib, const SSL *ssl,
    struct tls_session *session)
{
	const char *protocol = lib->SSL_get_version(ssl);
	const char *cipher =
	    lib->SSL_CIPHER_get_name(lib->SSL_get_current_cipher(ssl));

	*session = (struct tls_session){.expiry_known = false};
	snprintf(session->protocol, sizeof(session->protocol), "%s", protocol);
	snprintf(session->cipher, sizeof(session->cipher), "%s",
	    cipher != NULL ? cipher : "");
	note_expiry(lib, ssl, session);
}
