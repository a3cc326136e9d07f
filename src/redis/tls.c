#include "redis/tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "redis/tls_context.h"

/* clang-format off */
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
