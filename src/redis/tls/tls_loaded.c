#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "redis/tls/tls.h"
#include "redis/tls/tls_library.h"

/* clang-format off */
#define PLACE(name) {#name, offsetof(struct library, name)},
static const struct {
	char name[40];
	size_t offset;
} places[] = {
	FUNCTIONS(PLACE)
};
/* clang-format on */

const uint64_t tls_library_options = 0;
const char tls_library_origin[] = "loaded when a URL asks for TLS";

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

static const char sonames[][16] = {"libssl.so.3", "libssl.so.1.1"};

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

/* Never closed: the process exits with it. */
int
tls_library_fill(struct library *lib, char *error)
{
	void *handle = open_library(error);

	if (handle == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		void *function = dlsym(handle, places[i].name);
		if (function == NULL) {
			snprintf(error, TLS_ERROR_MAX,
			    "TLS needs OpenSSL 1.1.1 or newer: no %.40s in it",
			    places[i].name);
			return -1;
		}
		memcpy((char *)lib + places[i].offset, &function,
		    sizeof(function));
	}
	return 0;
}

void
tls_library_set_policy(const struct library *lib, SSL_CTX *ctx)
{
	(void)lib;
	(void)ctx;
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
