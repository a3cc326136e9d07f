#include "redis/tls/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "redis/tls/tls_context.h"

#define OPENSSL_3 0x30000000UL /* of its version numbers */

enum { SHOWN_MAX = 5, NAME_MAX_BYTES = 256, QUOTED_MAX = 128, MORE_MAX = 24 };

#define ADVICE " (use such a name in the URL)"

static int
cannot_set_up(char *error)
{
	snprintf(error, TLS_ERROR_MAX, "OpenSSL cannot be set up");
	return -1;
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

/* --- whom a certificate names --------------------------------------------- */

bool
tls_names_mismatch(long result)
{
	return result == X509_V_ERR_HOSTNAME_MISMATCH ||
	       result == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

/* A certificate may name any bytes, even NUL, which would hide the rest. */
static void
copy_bytes(char name[NAME_MAX_BYTES], const void *bytes, int length)
{
	size_t count = length < 0 ? 0 : (size_t)length;
	char *nul;

	if (count >= NAME_MAX_BYTES)
		count = NAME_MAX_BYTES - 1;
	memcpy(name, bytes, count);
	name[count] = '\0';
	while ((nul = memchr(name, '\0', count)) != NULL)
		*nul = '?';
}

/* In quotes; false if it names no host. */
static bool
quote_general_name(const struct library *lib, const GENERAL_NAME *general,
    char quoted[QUOTED_MAX])
{
	bool is_address = general->type == GEN_IPADD;
	char name[NAME_MAX_BYTES] = "?";
	const unsigned char *bytes;
	const ASN1_STRING *string;
	int length;

	if (!is_address && general->type != GEN_DNS)
		return false;
	string = is_address ? general->d.iPAddress : general->d.dNSName;
	bytes = lib->ASN1_STRING_get0_data(string);
	length = lib->ASN1_STRING_length(string);
	if (!is_address)
		copy_bytes(name, bytes, length);
	else if (length == sizeof(struct in_addr))
		inet_ntop(AF_INET, bytes, name, sizeof(name));
	else if (length == sizeof(struct in6_addr))
		inet_ntop(AF_INET6, bytes, name, sizeof(name));
	escape_quote(name, quoted, QUOTED_MAX);
	return true;
}

static void
describe_common_name(const struct library *lib, const X509 *certificate,
    char text[TLS_NAMES_MAX])
{
	char bytes[NAME_MAX_BYTES], name[NAME_MAX_BYTES], quoted[QUOTED_MAX];
	int length = lib->X509_NAME_get_text_by_NID(lib->X509_get_subject_name(
							certificate),
	    NID_commonName, bytes, sizeof(bytes));

	if (length <= 0) {
		snprintf(text, TLS_NAMES_MAX, "no host");
		return;
	}
	copy_bytes(name, bytes, length);
	escape_quote(name, quoted, sizeof(quoted));
	snprintf(text, TLS_NAMES_MAX,
	    "no host: its common name %s does not count, only a "
	    "subjectAltName does",
	    quoted);
}

/* The first five of them, fewer if they are long, and how many more there are;
 * then what to do. Without any: the common name, and that it does not count. */
static void
describe_names(const struct library *lib, X509 *certificate,
    char text[TLS_NAMES_MAX])
{
	GENERAL_NAMES *names = lib->X509_get_ext_d2i(certificate,
	    NID_subject_alt_name, NULL, NULL);
	/* The typed functions are calls of these, which must be loaded. */
	const OPENSSL_STACK *stack = (const OPENSSL_STACK *)names;
	int count = names == NULL ? 0 : lib->OPENSSL_sk_num(stack);
	size_t length = 0, shown = 0, more = 0;
	char quoted[QUOTED_MAX];

	for (int i = 0; i < count; i++) {
		if (!quote_general_name(lib, lib->OPENSSL_sk_value(stack, i),
			quoted))
			continue;
		if (more > 0 || shown == SHOWN_MAX ||
		    length + strlen(quoted) + MORE_MAX >
			TLS_NAMES_MAX - sizeof(ADVICE))
			more++;
		else
			length += (size_t)snprintf(text + length,
			    TLS_NAMES_MAX - length, "%s%s",
			    shown++ > 0 ? ", " : "", quoted);
	}
	lib->GENERAL_NAMES_free(names);
	if (shown == 0)
		describe_common_name(lib, certificate, text);
	else if (more > 0)
		snprintf(text + length, TLS_NAMES_MAX - length,
		    " and %zu more" ADVICE, more);
	else
		snprintf(text + length, TLS_NAMES_MAX - length, ADVICE);
}

/* --- set-up ------------------------------------------------------------- */

/* Once more, now with the system's file, under the same conditions: host name
 * and security level are among the parameters, which the verification takes. */
static int
verify_by_file(const struct library *lib, X509_STORE_CTX *verification)
{
	X509_STORE *store = lib->X509_STORE_CTX_get0_store(verification);
	X509 *certificate = lib->X509_STORE_CTX_get0_cert(verification);
	STACK_OF(X509) *others =
	    lib->X509_STORE_CTX_get0_untrusted(verification);
	X509_VERIFY_PARAM *param = lib->X509_VERIFY_PARAM_new();
	bool ready = param != NULL &&
		     lib->X509_VERIFY_PARAM_set1(param,
			 lib->X509_STORE_CTX_get0_param(verification)) == 1 &&
		     tls_library_trust_file(lib, store) == 0;

	if (ready) {
		lib->X509_STORE_CTX_cleanup(verification);
		ready = lib->X509_STORE_CTX_init(verification, store,
			    certificate, others) == 1;
	}
	if (!ready) {
		lib->X509_VERIFY_PARAM_free(param);
		return 0;
	}
	lib->X509_STORE_CTX_set0_param(verification, param);
	return lib->X509_verify_cert(verification);
}

/* Once a handshake has failed, OpenSSL does not have the certificate any more,
 * so that the names in it are noted here. */
static int
verify(X509_STORE_CTX *verification, void *arg)
{
	struct tls_context *context = arg;
	const struct library *lib = &context->lib;
	int verified = lib->X509_verify_cert(verification);

	if (verified != 1 && context->paths[TLS_CA] == NULL &&
	    !tls_names_mismatch(lib->X509_STORE_CTX_get_error(verification)))
		verified = verify_by_file(lib, verification);
	if (tls_names_mismatch(lib->X509_STORE_CTX_get_error(verification)))
		describe_names(lib, lib->X509_STORE_CTX_get0_cert(verification),
		    context->names);
	return verified;
}

static int
mistake(char *error, const char *what, const char *path, const char *why)
{
	char name[TLS_ERROR_MAX / 2];

	escape_quote(path, name, sizeof(name));
	snprintf(error, TLS_ERROR_MAX, "%s %s: %s", what, name, why);
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

/* The CAs of the system are in a folder, where one is found by the hash of its
 * name, and often in a file as well, whose 140 certificates take 20 ms to
 * parse. So that is read when the folder does not suffice. */
static int
set_ca(const struct library *lib, SSL_CTX *ctx, const char *path, char *error)
{
	if (path == NULL)
		return tls_library_trust_folder(lib, ctx, error);
	if (!readable(path))
		return mistake(error, "CA file", path, strerror(errno));
	if (lib->SSL_CTX_load_verify_locations(ctx, path, NULL) != 1)
		return mistake(error, "CA file", path,
		    "holds no certificate in PEM format");
	return 0;
}

static int
set_certificate(const struct library *lib, SSL_CTX *ctx,
    const char *const paths[TLS_FILES], char *error)
{
	const char *cert = paths[TLS_CERT];
	const char *key = paths[TLS_KEY] == NULL ? cert : paths[TLS_KEY];

	if (cert == NULL)
		return 0;
	if (!readable(cert))
		return mistake(error, "certificate", cert, strerror(errno));
	if (lib->SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		return mistake(error, "certificate", cert,
		    "holds no certificate in PEM format");
	if (!readable(key))
		return mistake(error, "key", key, strerror(errno));
	if (lib->SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return mistake(error, "key", key,
		    "not in PEM format, encrypted, or not that of the "
		    "certificate");
	if (lib->SSL_CTX_check_private_key(ctx) != 1)
		return mistake(error, "key", key,
		    "not that of the certificate");
	return 0;
}

static int
make_ctx(struct tls_context *context, SSL_CTX **made, char *error)
{
	const struct library *lib = &context->lib;
	SSL_CTX *ctx = lib->SSL_CTX_new(lib->TLS_client_method());
	long minimum;
	int rc;

	if (ctx == NULL)
		return cannot_set_up(error);
	/* openssl.cnf may require more, and SSL_CTX_new has obeyed it. */
	minimum =
	    lib->SSL_CTX_ctrl(ctx, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, NULL);
	if (minimum < TLS1_2_VERSION)
		lib->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION,
		    TLS1_2_VERSION, NULL);
	context->beyond_tls12 = minimum > TLS1_2_VERSION;
	if (tls_library_level >= 0)
		lib->SSL_CTX_set_security_level(ctx, tls_library_level);
	lib->SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	lib->SSL_CTX_set_cert_verify_callback(ctx, verify, context);
	lib->SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
	rc = set_certificate(lib, ctx, context->paths, error);
	if (rc == 0)
		rc = set_ca(lib, ctx, context->paths[TLS_CA], error);
	if (rc == 0)
		*made = ctx;
	else
		lib->SSL_CTX_free(ctx);
	return rc;
}

/* --- reading again ---------------------------------------------------- */

/* NULL, or the file that cannot be used; errno is 0 if that is no regular one,
 * as reading it might block. */
static const char *
look_at_files(const char *const paths[TLS_FILES], struct stat files[TLS_FILES])
{
	memset(files, 0, TLS_FILES * sizeof(*files));
	for (size_t i = 0; i < TLS_FILES; i++) {
		errno = 0;
		if (paths[i] != NULL && (stat(paths[i], &files[i]) == -1 ||
					    !S_ISREG(files[i].st_mode)))
			return paths[i];
	}
	return NULL;
}

/* The inode changes with a rename, and the time of its change cannot be set. */
static bool
are_same_files(const struct stat a[TLS_FILES], const struct stat b[TLS_FILES])
{
	for (size_t i = 0; i < TLS_FILES; i++)
		if (a[i].st_dev != b[i].st_dev || a[i].st_ino != b[i].st_ino ||
		    a[i].st_size != b[i].st_size ||
		    a[i].st_ctim.tv_sec != b[i].st_ctim.tv_sec ||
		    a[i].st_ctim.tv_nsec != b[i].st_ctim.tv_nsec)
			return false;
	return true;
}

/* The files are examined before they are read, so that one that changes
 * meanwhile differs the next time. */
static int
make_anew(struct tls_context *context, char *error)
{
	const struct library *lib = &context->lib;
	struct stat files[TLS_FILES];
	const char *path = look_at_files(context->paths, files);
	SSL_CTX *ctx = NULL;
	int rc;

	if (path != NULL)
		return mistake(error, "TLS file", path,
		    errno == 0 ? "not a regular file any more"
			       : strerror(errno));
	if (are_same_files(files, context->files))
		return 0;
	rc = make_ctx(context, &ctx, error);
	if (rc != 0)
		return rc;
	lib->SSL_CTX_free(context->ctx);
	context->ctx = ctx;
	memcpy(context->files, files, sizeof(files));
	return 0;
}

void
tls_context_refresh(struct tls_context *context, bool anew)
{
	char error[TLS_ERROR_MAX];
	int rc;

	if (context->ctx == NULL || !reread_is_due(&context->reread, anew))
		return;
	rc = make_anew(context, error);
	reread_finish(&context->reread, rc == 0 ? NULL : error);
}

struct reread *
tls_context_reread(struct tls_context *context)
{
	return &context->reread;
}

/* ---------------------------------------------------------------------- */

static bool
has_files(const struct tls_context *context)
{
	return context->paths[TLS_CA] != NULL ||
	       context->paths[TLS_CERT] != NULL;
}

/* The files are examined before they are read: see make_anew. */
struct tls_context *
tls_context_new(const struct tls_config *config)
{
	struct tls_context *context = calloc(1, sizeof(*context));

	if (context == NULL)
		return NULL;
	context->paths[TLS_CA] = config->ca_file;
	context->paths[TLS_CERT] = config->cert_file;
	context->paths[TLS_KEY] = config->key_file;
	context->die = config->die;
	context->reread.enabled =
	    has_files(context) &&
	    look_at_files(context->paths, context->files) == NULL;
	return context;
}

void
tls_context_free(struct tls_context *context)
{
	if (context != NULL && context->ctx != NULL)
		context->lib.SSL_CTX_free(context->ctx);
	free(context);
}

/* openssl.cnf must be read where it has the policy of the system. But the
 * kernel frees all at exit, and no error string of libcrypto is needed: the
 * last error of a connection that failed is always one of libssl. Nor are the
 * ciphers in the table of EVP_get_cipherbyname since libssl fetches them from
 * providers. */
void
tls_context_load(struct tls_context *context)
{
	const struct library *lib = &context->lib;
	char error[TLS_ERROR_MAX];
	uint64_t options;
	int rc;

	if (context->ctx != NULL)
		return;
	context->reread.read_at = clock_now();
	options = tls_library_prepare() | OPENSSL_INIT_NO_ATEXIT |
		  OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS;
	rc = tls_library_fill(&context->lib, error);
	if (rc == 0 && lib->OpenSSL_version_num() >= OPENSSL_3)
		options |= OPENSSL_INIT_NO_ADD_ALL_CIPHERS;
	if (rc == 0 && lib->OPENSSL_init_crypto(options, NULL) != 1)
		rc = cannot_set_up(error);
	if (rc == 0)
		rc = make_ctx(context, &context->ctx, error);
	if (rc != 0)
		context->die(rc, error);
}

static void
on_first_turn(void *arg)
{
	tls_context_load(arg);
}

void
tls_context_begin(struct tls_context *context, struct loop *loop)
{
	bool may_block = has_files(context) && !context->reread.enabled;

	if (loop == NULL || may_block) {
		tls_context_load(context);
		return;
	}
	context->timer =
	    (struct loop_timer){.on_due = on_first_turn, .arg = context};
	loop_timer_set(loop, &context->timer, clock_now());
}

void
tls_describe_library(char *text)
{
	struct library lib;

	if (tls_library_fill(&lib, text) == 0)
		snprintf(text, TLS_ERROR_MAX, "%s (" RLOCKRUN_OPENSSL ")",
		    lib.OpenSSL_version(OPENSSL_VERSION));
}
