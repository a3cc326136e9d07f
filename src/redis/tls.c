/* OpenSSL works on two memory BIOs, and the descriptor is read and written
 * here: its own socket BIO writes with write(2), which raises SIGPIPE. */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A record and its header. */
#define TLS_CHUNK 16640
/* An alert of the peer is an error of this and its number (RFC 8446, B.2). */
#define ALERT SSL_AD_REASON_OFFSET
/* Of an error code: that of OpenSSL 1.1 and of 3 have these bits in common. */
#define REASON_MASK 0xfff

/* What is loaded, with the types of the headers. libssl's handle finds
 * libcrypto's names, too. */
#define FUNCTIONS(DO)                          \
	DO(TLS_client_method)                  \
	DO(SSL_CTX_new)                        \
	DO(SSL_CTX_free)                       \
	DO(SSL_CTX_ctrl)                       \
	DO(SSL_CTX_set_verify)                 \
	DO(SSL_CTX_set_default_passwd_cb)      \
	DO(SSL_CTX_load_verify_locations)      \
	DO(SSL_CTX_set_default_verify_paths)   \
	DO(SSL_CTX_use_certificate_chain_file) \
	DO(SSL_CTX_use_PrivateKey_file)        \
	DO(SSL_CTX_check_private_key)          \
	DO(SSL_new)                            \
	DO(SSL_free)                           \
	DO(SSL_ctrl)                           \
	DO(SSL_get0_param)                     \
	DO(SSL_set_bio)                        \
	DO(SSL_set_connect_state)              \
	DO(SSL_do_handshake)                   \
	DO(SSL_read)                           \
	DO(SSL_write)                          \
	DO(SSL_pending)                        \
	DO(SSL_shutdown)                       \
	DO(SSL_get_error)                      \
	DO(SSL_get_verify_result)              \
	DO(X509_VERIFY_PARAM_set1_host)        \
	DO(X509_VERIFY_PARAM_set1_ip_asc)      \
	DO(X509_VERIFY_PARAM_set_hostflags)    \
	DO(X509_verify_cert_error_string)      \
	DO(BIO_s_mem)                          \
	DO(BIO_new)                            \
	DO(BIO_free)                           \
	DO(BIO_read)                           \
	DO(BIO_write)                          \
	DO(BIO_ctrl)                           \
	DO(BIO_ctrl_pending)                   \
	DO(ERR_clear_error)                    \
	DO(ERR_peek_last_error)                \
	DO(ERR_reason_error_string)

/* clang-format off */
#define MEMBER(name) __typeof__(name) *name; /* NOLINT */
struct library {
	FUNCTIONS(MEMBER)
};

#define PLACE(name) {#name, offsetof(struct library, name)},
static const struct {
	const char *name;
	size_t offset;
} places[] = {
	FUNCTIONS(PLACE)
};
/* clang-format on */

/* For packagers: what is loaded (systemd.io/ELF_DLOPEN_METADATA). */
#define NOTE_TEXT                                                      \
	"[{\"feature\":\"tls\",\"description\":\"rediss:// servers\"," \
	"\"priority\":\"recommended\","                                \
	"\"soname\":[\"libssl.so.3\",\"libssl.so.1.1\"]}]"

static const struct {
	uint32_t name_size, text_size, type;
	char name[4];
	_Alignas(4) char text[(sizeof(NOTE_TEXT) + 3) & ~(size_t)3];
} note __attribute__((used, section(".note.dlopen"), aligned(4))) = {4,
    sizeof(NOTE_TEXT), 0x407c0c0a, "FDO", NOTE_TEXT};

static const char *const sonames[] = {"libssl.so.3", "libssl.so.1.1"};

struct tls_context {
	struct library lib;
	SSL_CTX *ctx;
	bool certified; /* we have a certificate of our own */
};

struct tls {
	const struct tls_context *context;
	int fd;
	SSL *ssl;
	BIO *in, *out; /* the SSL's own */
	bool numeric;
	bool open;    /* the handshake is done, and nothing went wrong since */
	bool spoken;  /* the server has sent anything at all */
	bool foreign; /* and that wasn't TLS */
	bool permanent;
	char host[256];
	char error[TLS_ERROR_MAX];
};

/* --- the context ------------------------------------------------------ */

/* The absence of the first one is reported: it is the one to install. */
static void *
open_library(char *error)
{
	void *handle = dlopen(sonames[0], RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL)
		snprintf(error, TLS_ERROR_MAX,
		    "TLS needs OpenSSL, which cannot be loaded: %s", dlerror());
	for (size_t i = 1;
	     handle == NULL && i < sizeof(sonames) / sizeof(*sonames); i++)
		handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

/* Never closed: OpenSSL cleans up when the process exits. */
static int
load(struct library *lib, char *error)
{
	void *handle = open_library(error);

	if (handle == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		void *function = dlsym(handle, places[i].name);
		if (function == NULL) {
			snprintf(error, TLS_ERROR_MAX,
			    "TLS needs OpenSSL 1.1.1 or newer: no %s in it",
			    places[i].name);
			return -1;
		}
		memcpy((char *)lib + places[i].offset, &function,
		    sizeof(function));
	}
	return 0;
}

/* OpenSSL would ask on the terminal. */
static int
no_passphrase(char *text, int size, int writing, void *arg)
{
	(void)text;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int
mistake(char *error, const char *what, const char *path, const char *why)
{
	snprintf(error, TLS_ERROR_MAX, "%s %s: %s", what, path, why);
	return 1;
}

/* OpenSSL's own words about a missing file are no help. */
static bool
readable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char byte;
	bool ok = fd != -1 && read(fd, &byte, 1) != -1;
	int saved = errno;

	if (fd != -1)
		close(fd);
	errno = saved;
	return ok;
}

static int
set_ca(const struct tls_context *context, const char *path, char *error)
{
	const struct library *lib = &context->lib;

	if (path == NULL) {
		lib->SSL_CTX_set_default_verify_paths(context->ctx);
		return 0;
	}
	if (!readable(path))
		return mistake(error, "CA file", path, strerror(errno));
	if (lib->SSL_CTX_load_verify_locations(context->ctx, path, NULL) != 1)
		return mistake(error, "CA file", path,
		    "holds no certificate in PEM format");
	return 0;
}

static int
set_certificate(const struct tls_context *context,
    const struct tls_config *config, char *error)
{
	const struct library *lib = &context->lib;
	const char *cert = config->cert_file;
	const char *key = config->key_file == NULL ? cert : config->key_file;

	if (cert == NULL)
		return 0;
	if (!readable(cert))
		return mistake(error, "certificate", cert, strerror(errno));
	if (lib->SSL_CTX_use_certificate_chain_file(context->ctx, cert) != 1)
		return mistake(error, "certificate", cert,
		    "holds no certificate in PEM format");
	if (!readable(key))
		return mistake(error, "key", key, strerror(errno));
	if (lib->SSL_CTX_use_PrivateKey_file(context->ctx, key,
		SSL_FILETYPE_PEM) != 1)
		return mistake(error, "key", key,
		    "not in PEM format, encrypted, or not that of the "
		    "certificate");
	if (lib->SSL_CTX_check_private_key(context->ctx) != 1)
		return mistake(error, "key", key,
		    "not that of the certificate");
	return 0;
}

static int
set_up(struct tls_context *context, const struct tls_config *config,
    char *error)
{
	const struct library *lib = &context->lib;
	int rc;

	context->ctx = lib->SSL_CTX_new(lib->TLS_client_method());
	if (context->ctx == NULL) {
		snprintf(error, TLS_ERROR_MAX, "OpenSSL cannot be set up");
		return -1;
	}
	lib->SSL_CTX_ctrl(context->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION,
	    TLS1_2_VERSION, NULL);
	lib->SSL_CTX_set_verify(context->ctx, SSL_VERIFY_PEER, NULL);
	lib->SSL_CTX_set_default_passwd_cb(context->ctx, no_passphrase);
	context->certified = config->cert_file != NULL;
	rc = set_ca(context, config->ca_file, error);
	return rc != 0 ? rc : set_certificate(context, config, error);
}

int
tls_context_new(struct tls_context **context, const struct tls_config *config,
    char *error)
{
	struct tls_context *made = calloc(1, sizeof(*made));
	int rc = -1;

	if (made == NULL)
		snprintf(error, TLS_ERROR_MAX, "%s", strerror(ENOMEM));
	else if (load(&made->lib, error) == 0)
		rc = set_up(made, config, error);
	if (rc == 0)
		*context = made;
	else
		tls_context_free(made);
	return rc;
}

void
tls_context_free(struct tls_context *context)
{
	if (context != NULL && context->ctx != NULL)
		context->lib.SSL_CTX_free(context->ctx);
	free(context);
}

/* --- a session -------------------------------------------------------- */

/* An address stands in no server name indication (RFC 6066, 3). A common name
 * is no host name (RFC 9525, 6.3), but without this flag OpenSSL takes it for
 * one where the certificate has no alternative names of type DNS. */
static int
set_host(struct tls *tls)
{
	const struct library *lib = &tls->context->lib;
	X509_VERIFY_PARAM *param = lib->SSL_get0_param(tls->ssl);

	if (tls->numeric)
		return lib->X509_VERIFY_PARAM_set1_ip_asc(param, tls->host);
	lib->X509_VERIFY_PARAM_set_hostflags(param,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (lib->X509_VERIFY_PARAM_set1_host(param, tls->host, 0) != 1)
		return 0;
	return (int)lib->SSL_ctrl(tls->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
	    TLSEXT_NAMETYPE_host_name, tls->host);
}

static int
set_bios(struct tls *tls)
{
	const struct library *lib = &tls->context->lib;

	tls->in = lib->BIO_new(lib->BIO_s_mem());
	tls->out = lib->BIO_new(lib->BIO_s_mem());
	if (tls->in == NULL || tls->out == NULL) {
		lib->BIO_free(tls->in);
		lib->BIO_free(tls->out);
		return 0;
	}
	lib->SSL_set_bio(tls->ssl, tls->in, tls->out);
	return 1;
}

struct tls *
tls_new(struct tls_context *context, int fd, const char *host)
{
	const struct library *lib = &context->lib;
	struct tls *tls = calloc(1, sizeof(*tls));
	unsigned char address[sizeof(struct in6_addr)];

	if (tls == NULL)
		return NULL;
	tls->context = context;
	tls->fd = fd;
	snprintf(tls->host, sizeof(tls->host), "%s", host);
	tls->numeric = inet_pton(AF_INET, host, address) == 1 ||
		       inet_pton(AF_INET6, host, address) == 1;
	tls->ssl = lib->SSL_new(context->ctx);
	if (tls->ssl == NULL || set_bios(tls) != 1 || set_host(tls) != 1) {
		tls_free(tls);
		return NULL;
	}
	lib->SSL_set_connect_state(tls->ssl);
	return tls;
}

static size_t
pending(const struct tls *tls, BIO *bio)
{
	return bio == NULL ? 0 : tls->context->lib.BIO_ctrl_pending(bio);
}

bool
tls_unread(const struct tls *tls)
{
	return tls->context->lib.SSL_pending(tls->ssl) > 0 ||
	       pending(tls, tls->in) > 0;
}

bool
tls_unsent(const struct tls *tls)
{
	return pending(tls, tls->out) > 0;
}

const char *
tls_error(const struct tls *tls)
{
	return tls->error;
}

bool
tls_is_permanent(const struct tls *tls)
{
	return tls->permanent;
}

/* Sends what OpenSSL has written. 0, or -1 with errno. */
static int
push(struct tls *tls)
{
	const struct library *lib = &tls->context->lib;
	char sent_away[1024];

	while (tls_unsent(tls)) {
		char *data = NULL;
		long size = lib->BIO_ctrl(tls->out, BIO_CTRL_INFO, 0, &data);
		ssize_t sent = send(tls->fd, data, (size_t)size, MSG_NOSIGNAL);
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
pull(struct tls *tls)
{
	unsigned char chunk[TLS_CHUNK];
	ssize_t got = recv(tls->fd, chunk, sizeof(chunk), 0);

	if (got == -1 && errno == EINTR)
		errno = EAGAIN;
	if (got <= 0)
		return got;
	/* A handshake (22) or an alert (21) comes first (RFC 8446, 5.1). */
	tls->foreign = !tls->spoken && chunk[0] != 22 && chunk[0] != 21;
	tls->spoken = true;
	if (tls->context->lib.BIO_write(tls->in, chunk, (int)got) != got) {
		errno = ENOMEM;
		return -1;
	}
	return got;
}

/* --- why it failed ---------------------------------------------------- */

static const char *
certificate_fault(const struct tls *tls, long result)
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
		return "its certificate is of an unknown CA (--tls-ca FILE "
		       "trusts one)";
	default:
		return tls->context->lib.X509_verify_cert_error_string(result);
	}
}

/* What an alert of the server means, NULL for anything else. */
static const char *
alert_text(const struct tls *tls, int alert)
{
	bool certified = tls->context->certified;

	switch (alert) {
	case SSL_AD_PROTOCOL_VERSION:
		return "it does not speak TLS 1.2 or newer";
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
describe(struct tls *tls)
{
	const struct library *lib = &tls->context->lib;
	unsigned long code = lib->ERR_peek_last_error();
	int reason = (int)(code & REASON_MASK);
	long result = lib->SSL_get_verify_result(tls->ssl);
	const char *why = alert_text(tls, reason - ALERT);

	if (tls->foreign)
		why = "it does not speak TLS";
	else if (reason == SSL_R_UNSUPPORTED_PROTOCOL)
		why = "it does not speak TLS 1.2 or newer";
	else if (result != X509_V_OK)
		why = certificate_fault(tls, result);
	tls->permanent = why != NULL;
	if (why == NULL)
		why = lib->ERR_reason_error_string(code);
	if (!tls->foreign && (result == X509_V_ERR_HOSTNAME_MISMATCH ||
				 result == X509_V_ERR_IP_ADDRESS_MISMATCH))
		snprintf(tls->error, sizeof(tls->error),
		    "its certificate is not for %s: only its subjectAltName "
		    "counts, not its common name",
		    tls->host);
	else
		snprintf(tls->error, sizeof(tls->error), "%s",
		    why == NULL ? "broken TLS" : why);
}

/* --- reading and writing ---------------------------------------------- */

/* After a call of OpenSSL that returned rc: pushes what it wrote. 0 when it
 * needs more input, -1 with errno: EPROTO when it gave up. */
static int
needs_input(struct tls *tls, int rc)
{
	const struct library *lib = &tls->context->lib;

	if (lib->SSL_get_error(tls->ssl, rc) != SSL_ERROR_WANT_READ) {
		tls->open = false;
		describe(tls);
		push(tls);
		errno = EPROTO;
		return -1;
	}
	return push(tls) == -1 && errno != EAGAIN ? -1 : 0;
}

static int
fail_handshake(struct tls *tls, ssize_t got)
{
	if (got == 0 || errno == ECONNRESET) {
		snprintf(tls->error, sizeof(tls->error), "%s",
		    tls->spoken ? "closed during the TLS handshake"
				: "closed during the TLS handshake, perhaps "
				  "it does not speak TLS");
		errno = ECONNRESET;
	} else if (errno != EPROTO && errno != EAGAIN) {
		snprintf(tls->error, sizeof(tls->error), "%s", strerror(errno));
	}
	return -1;
}

int
tls_handshake(struct tls *tls)
{
	const struct library *lib = &tls->context->lib;

	for (;;) {
		ssize_t got;
		int rc;

		lib->ERR_clear_error();
		rc = lib->SSL_do_handshake(tls->ssl);
		if (rc == 1)
			break;
		if (needs_input(tls, rc) == -1)
			return fail_handshake(tls, -1);
		got = pull(tls);
		if (got <= 0)
			return fail_handshake(tls, got);
	}
	/* Its last words go out together with the first command. */
	tls->open = true;
	return 0;
}

ssize_t
tls_read(struct tls *tls, void *data, size_t size)
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

/* OpenSSL takes all at once, as its own side is memory. */
ssize_t
tls_write(struct tls *tls, const void *data, size_t size)
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

void
tls_free(struct tls *tls)
{
	const struct library *lib;

	if (tls == NULL)
		return;
	lib = &tls->context->lib;
	if (tls->open && lib->SSL_shutdown(tls->ssl) >= 0)
		push(tls);
	if (tls->ssl != NULL)
		lib->SSL_free(tls->ssl);
	free(tls);
}
