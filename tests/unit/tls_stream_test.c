/* TLS on a socket: what is handed to OpenSSL and taken from it, whose table
 * this test fills. */
#include "redis/tls/tls_stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/tls/tls_context.h"
#include "tap.h"

enum { CHUNK = 16640, DAY_S = 86400 };

/* What OpenSSL says, and what it was given. Its BIOs: one to read, then one to
 * write. */
static struct {
	int rc, error, unread, size;
	size_t waiting[2];
	bool has_chain, has_expiry;
	int chain;
} ssl;
static char written[CHUNK + 1];

static BIO *
next_bio(void)
{
	static size_t count;

	return (BIO *)&ssl.waiting[count++ % 2];
}

static int
take(BIO *bio, int size)
{
	*(size_t *)bio -= (size_t)size;
	return size;
}

static long
point_at(BIO *bio, char **data)
{
	*data = written;
	return (long)*(size_t *)bio;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
/* clang-format off */
#define FAKE(type, name, parameters, value) \
	static type fake_##name parameters { return value; }
#define IGNORE(name) static void fake_##name(SSL *of) {}

FAKE(SSL *, SSL_new, (SSL_CTX *ctx), (SSL *)ctx)
FAKE(const BIO_METHOD *, BIO_s_mem, (void), NULL)
FAKE(BIO *, BIO_new, (const BIO_METHOD *of), next_bio())
FAKE(size_t, BIO_ctrl_pending, (BIO *bio), *(size_t *)bio)
FAKE(long, BIO_ctrl, (BIO *bio, int what, long n, void *to), point_at(bio, to))
FAKE(int, BIO_read, (BIO *bio, void *to, int size), take(bio, size))
FAKE(X509_VERIFY_PARAM *, SSL_get0_param, (SSL *of), NULL)
FAKE(int, X509_VERIFY_PARAM_set1_ip_asc, (X509_VERIFY_PARAM *of,
    const char *text), strcmp(text, "127.0.0.1") == 0)
FAKE(int, SSL_write, (SSL *of, const void *data, int size),
    (ssl.size = size, ssl.rc))
FAKE(int, SSL_do_handshake, (SSL *of), 1)
FAKE(int, SSL_shutdown, (SSL *of), -1)
FAKE(int, SSL_get_error, (const SSL *of, int rc), ssl.error)
FAKE(int, SSL_pending, (const SSL *of), ssl.unread)
FAKE(unsigned long, ERR_peek_last_error, (void), 0)
FAKE(const char *, ERR_reason_error_string, (unsigned long code), NULL)
FAKE(long, SSL_get_verify_result, (const SSL *of), X509_V_OK)
FAKE(const char *, SSL_get_version, (const SSL *of), "TLSv1.3")
FAKE(const SSL_CIPHER *, SSL_get_current_cipher, (const SSL *of), NULL)
FAKE(const char *, SSL_CIPHER_get_name, (const SSL_CIPHER *of), "C")
FAKE(STACK_OF(X509) *, SSL_get_peer_cert_chain, (const SSL *of),
    ssl.has_chain ? (STACK_OF(X509) *)&ssl : NULL)
FAKE(int, OPENSSL_sk_num, (const OPENSSL_STACK *of), ssl.chain)
FAKE(void *, OPENSSL_sk_value, (const OPENSSL_STACK *of, int i),
    i == 0 ? &ssl : NULL)
FAKE(X509 *, SSL_get_certificate, (const SSL *of), NULL)
FAKE(const ASN1_TIME *, X509_get0_notAfter, (const X509 *of), NULL)
FAKE(int, ASN1_TIME_diff, (int *days, int *seconds, const ASN1_TIME *from,
    const ASN1_TIME *to), (*days = 2, *seconds = 5, ssl.has_expiry))
IGNORE(SSL_set_connect_state)
IGNORE(SSL_free)
static void fake_SSL_set_bio(SSL *of, BIO *in, BIO *out) {}
static void fake_ERR_clear_error(void) {}

#define IS(name) .name = fake_##name
static struct tls_context context = {.ctx = (SSL_CTX *)&ssl,
    .lib = {IS(SSL_new), IS(BIO_s_mem), IS(BIO_new), IS(BIO_ctrl_pending),
	IS(BIO_ctrl), IS(BIO_read), IS(SSL_get0_param),
	IS(X509_VERIFY_PARAM_set1_ip_asc), IS(SSL_write), IS(SSL_do_handshake),
	IS(SSL_shutdown), IS(SSL_get_error), IS(SSL_pending),
	IS(ERR_peek_last_error), IS(ERR_reason_error_string),
	IS(SSL_get_verify_result), IS(SSL_get_version),
	IS(SSL_get_current_cipher), IS(SSL_CIPHER_get_name),
	IS(SSL_get_peer_cert_chain), IS(OPENSSL_sk_num), IS(OPENSSL_sk_value),
	IS(SSL_get_certificate), IS(X509_get0_notAfter), IS(ASN1_TIME_diff),
	IS(SSL_set_connect_state), IS(SSL_free), IS(SSL_set_bio),
	IS(ERR_clear_error)}};
/* clang-format on */

/* --- writing ------------------------------------------------------------ */

static void
test_writing(struct tls_stream *tls, int peer)
{
	static char in[CHUNK];

	ssl.rc = 5;
	ssl.waiting[1] = 3000;
	is_int(tls_stream_write(tls, written, CHUNK + 1), 5, "written");
	is_int(ssl.size, CHUNK, "  no more than a record");
	is_int(recv(peer, in, CHUNK, MSG_DONTWAIT), 3000, "  and sent");
	ok(!tls_stream_has_unsent(tls), "  nothing is left");
	ssl.waiting[1] = 1;
	ok(tls_stream_has_unsent(tls), "a byte is left");
	is_int(tls_stream_write(tls, written, 0), 0, "  it is sent");
	is_int(recv(peer, in, CHUNK, MSG_DONTWAIT), 1, "  alone");
	ssl.rc = -1;
	ssl.error = SSL_ERROR_WANT_READ;
	is_int(tls_stream_write(tls, written, 1), -1, "it must read first");
	is_int(errno, EAGAIN, "  then again");
	ok(tls_stream_describe(tls, &(struct tls_session){.cipher = ""}),
	    "  it is no failure");
	ssl.error = SSL_ERROR_SSL;
	ssl.waiting[1] = 7;
	is_int(tls_stream_write(tls, written, 1), -1, "it fails");
	is_int(errno, EPROTO, "  for good");
	is_int(recv(peer, in, CHUNK, MSG_DONTWAIT), 7, "  the alert is sent");
	is_text(tls_stream_error(tls, EPROTO), "broken TLS", "  its words");
	ok(!tls_stream_is_permanent(tls, EPROTO), "  perhaps not for ever");
}

static void
test_unread(const struct tls_stream *tls)
{
	ok(!tls_stream_has_unread(tls), "nothing is read ahead");
	ssl.unread = 1;
	ok(tls_stream_has_unread(tls), "  a byte is");
	ssl.unread = 0;
	ssl.waiting[0] = 1;
	ok(tls_stream_has_unread(tls), "  of a record");
	ssl.waiting[0] = 0;
}

/* --- what it came to ---------------------------------------------------- */

static const struct {
	bool has_chain, has_expiry;
	int chain;
	bool is_known;
} chains[] = {{true, true, 1, true}, {false, true, 1, false},
    {true, true, 0, false}, {true, false, 1, false}};

static void
test_sessions(const struct tls_stream *tls)
{
	for (size_t i = 0; i < LENGTH(chains); i++) {
		struct tls_session session;

		ssl.has_chain = chains[i].has_chain;
		ssl.has_expiry = chains[i].has_expiry;
		ssl.chain = chains[i].chain;
		ok(tls_stream_describe(tls, &session), "a session");
		is_text(session.protocol, "TLSv1.3", "  its protocol");
		is_text(session.cipher, "C", "  its cipher");
		ok(session.server_expiry.known == chains[i].is_known,
		    "  its server's certificate");
		is_int(session.server_expiry.in_s,
		    chains[i].is_known ? 2 * DAY_S + 5 : 0, "  ends");
		ok(!session.own_expiry.known, "  none of ours");
	}
}

int
main(void)
{
	struct tls_stream *tls;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == -1)
		return 1;
	tls = tls_stream_new(&context, ends[0], "127.0.0.1");
	ok(!tls_stream_describe(tls, &(struct tls_session){.cipher = ""}),
	    "no session yet");
	is_int(tls_stream_handshake(tls), 0, "a handshake");
	test_sessions(tls);
	test_unread(tls);
	test_writing(tls, ends[1]);
	tls_stream_free(tls);
	close(ends[0]);
	close(ends[1]);
	return tap_done();
}
