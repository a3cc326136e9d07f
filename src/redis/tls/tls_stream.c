#include "redis/tls/tls_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/socket.h"
#include "redis/tls/tls_context.h"

enum { DAY_S = 24 * 60 * 60 };

/* A record and its header. */
#define TLS_CHUNK 16640
/* An alert of the peer is an error of this and its number (RFC 8446, B.2). */
#define ALERT SSL_AD_REASON_OFFSET
/* Of an error code: that of OpenSSL 1.1 and of 3 have these bits in common. */
#define REASON_MASK 0xfff

struct tls_stream {
	struct tls_context *context;
	int fd;
	SSL *ssl;
	BIO *in, *out; /* the SSL's own */
	bool open;     /* the handshake is done, and nothing went wrong since */
	enum { PEER_SILENT, PEER_TLS, PEER_OTHER } peer; /* by its first byte */
	bool permanent;
	char host[256];
	char error[TLS_NAMES_MAX + 384];
};

/* The final dot of a name marks it as absolute for the resolver. It is no part
 * of the name that is indicated (RFC 6066, 3) or certified. The zone of an
 * address has a meaning on this host only. Nothing is cut from a host that
 * would be empty then: OpenSSL would verify no name at all. */
static void
note_host(struct tls_stream *tls, const char *host)
{
	size_t whole = strlen(host), length = whole;

	if (strchr(host, ':') != NULL)
		length = strcspn(host, "%");
	else if (whole > 0 && host[whole - 1] == '.')
		length--;
	snprintf(tls->host, sizeof(tls->host), "%.*s",
	    (int)(length > 0 ? length : whole), host);
}

/* An address is not sent as server name indication (RFC 6066, 3). A common name
 * is no host name (RFC 9525, 6.3), but without this flag OpenSSL takes it for
 * one where the certificate has no alternative names of type DNS. */
static int
set_host(struct tls_stream *tls)
{
	const struct library *lib = &tls->context->lib;
	X509_VERIFY_PARAM *param = lib->SSL_get0_param(tls->ssl);
	unsigned char address[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, tls->host, address) == 1 ||
	    inet_pton(AF_INET6, tls->host, address) == 1)
		return lib->X509_VERIFY_PARAM_set1_ip_asc(param, tls->host);
	lib->X509_VERIFY_PARAM_set_hostflags(param,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (lib->X509_VERIFY_PARAM_set1_host(param, tls->host, 0) != 1)
		return 0;
	return (int)lib->SSL_ctrl(tls->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
	    TLSEXT_NAMETYPE_host_name, tls->host);
}

static size_t
pending(const struct tls_stream *tls, BIO *bio)
{
	return bio == NULL ? 0 : tls->context->lib.BIO_ctrl_pending(bio);
}

static void
free_stream(struct tls_stream *tls)
{
	if (tls->ssl != NULL)
		tls->context->lib.SSL_free(tls->ssl);
	free(tls);
}

struct tls_stream *
tls_stream_new(struct tls_context *context, int fd, const char *host)
{
	const struct library *lib = &context->lib;
	struct tls_stream *tls = calloc(1, sizeof(*tls));

	if (tls == NULL)
		return NULL;
	tls_context_load(context);
	tls->context = context;
	tls->fd = fd;
	note_host(tls, host);
	tls->ssl = lib->SSL_new(context->ctx);
	tls->in = lib->BIO_new(lib->BIO_s_mem());
	tls->out = lib->BIO_new(lib->BIO_s_mem());
	if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
		lib->BIO_free(tls->in);
		lib->BIO_free(tls->out);
		free_stream(tls);
		return NULL;
	}
	lib->SSL_set_bio(tls->ssl, tls->in, tls->out);
	lib->SSL_set_connect_state(tls->ssl);
	if (set_host(tls) == 1)
		return tls;
	free_stream(tls);
	return NULL;
}

/* Sends what OpenSSL has written. 0, or -1 with errno. */
static int
push(struct tls_stream *tls)
{
	const struct library *lib = &tls->context->lib;
	char sent_away[1024];

	while (pending(tls, tls->out) > 0) {
		char *data = NULL;
		long size = lib->BIO_ctrl(tls->out, BIO_CTRL_INFO, 0, &data);
		ssize_t sent = socket_write(tls->fd, data, (size_t)size);
		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1)
			return -1;
		while (sent > 0) {
			int part = sent < (ssize_t)sizeof(sent_away)
				       ? (int)sent
				       : (int)sizeof(sent_away);
			sent -= lib->BIO_read(tls->out, sent_away, part);
		}
	}
	return 0;
}

/* Reads what OpenSSL is to read. As recv(2). */
static ssize_t
pull(struct tls_stream *tls)
{
	unsigned char chunk[TLS_CHUNK];
	ssize_t got = socket_read(tls->fd, chunk, sizeof(chunk));

	if (got == -1 && errno == EINTR)
		errno = EAGAIN;
	if (got <= 0)
		return got;
	/* A handshake (22) or an alert (21) comes first (RFC 8446, 5.1). */
	if (tls->peer == PEER_SILENT && chunk[0] != 22 && chunk[0] != 21)
		tls->peer = PEER_OTHER;
	else
		tls->peer = PEER_TLS;
	if (tls->context->lib.BIO_write(tls->in, chunk, (int)got) != got) {
		errno = ENOMEM;
		return -1;
	}
	return got;
}

/* --- why it failed ---------------------------------------------------- */

static const char *
certificate_fault(const struct tls_stream *tls, long result)
{
	switch (result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "its certificate has expired, or its CA's has";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "its certificate is not valid yet";
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		return "its certificate is self-signed (--tls-ca FILE trusts "
		       "it)";
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return "its certificate is issued by an unknown CA (--tls-ca "
		       "FILE "
		       "trusts one)";
	default:
		return tls->context->lib.X509_verify_cert_error_string(result);
	}
}

static const char *
version_fault(const struct tls_stream *tls)
{
	return tls->context->beyond_tls12
		   ? "it does not speak TLS 1.3 or newer, as openssl.cnf "
		     "requires"
		   : "it does not speak TLS 1.2 or newer";
}

/* What an alert of the server means, NULL for anything else. */
static const char *
alert_text(const struct tls_stream *tls, int alert)
{
	bool certified = tls->context->paths[TLS_CERT] != NULL;

	switch (alert) {
	case SSL_AD_PROTOCOL_VERSION:
		return version_fault(tls);
	case SSL_AD_UNRECOGNIZED_NAME:
		return "it does not know that host name";
	case SSL_AD_HANDSHAKE_FAILURE:
		return certified
			   ? "it refused the handshake"
			   : "it refused the handshake, perhaps it requires "
			     "a certificate (--tls-cert, --tls-key)";
	case SSL_AD_CERTIFICATE_EXPIRED:
		return "it reports that our certificate has expired";
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_ACCESS_DENIED:
	case SSL_AD_DECRYPT_ERROR:
		return "it refused our certificate";
	case TLS13_AD_CERTIFICATE_REQUIRED:
		return "it requires a certificate (--tls-cert, --tls-key)";
	default:
		return NULL;
	}
}

static void
describe_fault(struct tls_stream *tls)
{
	const struct library *lib = &tls->context->lib;
	unsigned long code = lib->ERR_peek_last_error();
	int reason = (int)(code & REASON_MASK);
	long result = lib->SSL_get_verify_result(tls->ssl);
	const char *why = alert_text(tls, reason - ALERT);

	if (tls->peer == PEER_OTHER)
		why = "it does not speak TLS";
	else if (reason == SSL_R_UNSUPPORTED_PROTOCOL)
		why = version_fault(tls);
	else if (result != X509_V_OK)
		why = certificate_fault(tls, result);
	tls->permanent = why != NULL;
	if (why == NULL)
		why = lib->ERR_reason_error_string(code);
	if (tls->peer != PEER_OTHER && tls_names_mismatch(result))
		snprintf(tls->error, sizeof(tls->error),
		    "its certificate is not for %s, but for %s", tls->host,
		    tls->context->names);
	else
		snprintf(tls->error, sizeof(tls->error), "%s",
		    why == NULL ? "broken TLS" : why);
}

/* After a call of OpenSSL that returned rc: pushes what it wrote. 0 when it
 * needs more input, -1 with errno: EPROTO when it gave up. */
static int
needs_input(struct tls_stream *tls, int rc)
{
	const struct library *lib = &tls->context->lib;

	if (lib->SSL_get_error(tls->ssl, rc) != SSL_ERROR_WANT_READ) {
		tls->open = false;
		describe_fault(tls);
		push(tls);
		errno = EPROTO;
		return -1;
	}
	return push(tls) == -1 && errno != EAGAIN ? -1 : 0;
}

int
tls_stream_handshake(struct tls_stream *tls)
{
	const struct library *lib = &tls->context->lib;
	ssize_t got = 1;

	while (got > 0) {
		int rc;

		lib->ERR_clear_error();
		rc = lib->SSL_do_handshake(tls->ssl);
		/* Its last record goes out together with the first command. */
		if (rc == 1) {
			tls->open = true;
			return 0;
		}
		got = needs_input(tls, rc);
		if (got == 0)
			got = pull(tls);
	}
	if (got == 0 || errno == ECONNRESET) {
		snprintf(tls->error, sizeof(tls->error), "%s",
		    tls->peer != PEER_SILENT
			? "closed during the TLS handshake"
			: "closed during the TLS handshake, perhaps it does "
			  "not speak TLS");
		errno = ECONNRESET;
	}
	return -1;
}

/* --- reading and writing ---------------------------------------------- */

ssize_t
tls_stream_read(struct tls_stream *tls, void *data, size_t size)
{
	const struct library *lib = &tls->context->lib;
	int most = size > TLS_CHUNK ? TLS_CHUNK : (int)size;

	for (;;) {
		ssize_t got;
		int rc;

		lib->ERR_clear_error();
		rc = lib->SSL_read(tls->ssl, data, most);
		if (rc > 0)
			return rc;
		if (lib->SSL_get_error(tls->ssl, rc) == SSL_ERROR_ZERO_RETURN)
			return 0;
		if (needs_input(tls, rc) == -1)
			return -1;
		got = pull(tls);
		if (got <= 0)
			return got;
	}
}

/* OpenSSL accepts all at once, as its own side is memory. */
ssize_t
tls_stream_write(struct tls_stream *tls, const void *data, size_t size)
{
	const struct library *lib = &tls->context->lib;
	int rc = 0;

	if (size > TLS_CHUNK)
		size = TLS_CHUNK;
	if (size > 0) {
		lib->ERR_clear_error();
		rc = lib->SSL_write(tls->ssl, data, (int)size);
		if (rc <= 0) {
			if (needs_input(tls, rc) == 0)
				errno = EAGAIN;
			return -1;
		}
	}
	return push(tls) == -1 && errno != EAGAIN ? -1 : rc;
}

bool
tls_stream_has_unread(const struct tls_stream *tls)
{
	return tls != NULL && (tls->context->lib.SSL_pending(tls->ssl) > 0 ||
				  pending(tls, tls->in) > 0);
}

bool
tls_stream_has_unsent(const struct tls_stream *tls)
{
	return tls != NULL && pending(tls, tls->out) > 0;
}

/* --- what it came to -------------------------------------------------- */

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
bool
tls_stream_describe(const struct tls_stream *tls, struct tls_session *session)
{
	const struct library *lib;
	const OPENSSL_STACK *chain;
	const char *cipher;

	if (tls == NULL || !tls->open)
		return false;
	lib = &tls->context->lib;
	cipher =
	    lib->SSL_CIPHER_get_name(lib->SSL_get_current_cipher(tls->ssl));
	*session = (struct tls_session){.protocol = ""};
	snprintf(session->protocol, sizeof(session->protocol), "%s",
	    lib->SSL_get_version(tls->ssl));
	snprintf(session->cipher, sizeof(session->cipher), "%s",
	    cipher != NULL ? cipher : "");
	chain = (const OPENSSL_STACK *)lib->SSL_get_peer_cert_chain(tls->ssl);
	if (chain != NULL && lib->OPENSSL_sk_num(chain) > 0)
		note_expiry(lib, lib->OPENSSL_sk_value(chain, 0),
		    &session->server_expiry);
	note_expiry(lib, lib->SSL_get_certificate(tls->ssl),
	    &session->own_expiry);
	return true;
}

/* 21, 3 is an alert of any version (RFC 8446, 5.1). */
bool
tls_stream_is_alert(const char *in, size_t length)
{
	return length >= 2 && in[0] == 21 && in[1] == 3;
}

const char *
tls_stream_error(const struct tls_stream *tls, int error)
{
	return tls != NULL && tls->error[0] != '\0' ? tls->error
						    : strerror(error);
}

bool
tls_stream_is_permanent(const struct tls_stream *tls, int error)
{
	return tls != NULL && error == EPROTO && tls->permanent;
}

void
tls_stream_free(struct tls_stream *tls)
{
	if (tls->open && tls->context->lib.SSL_shutdown(tls->ssl) >= 0)
		push(tls);
	free_stream(tls);
}
