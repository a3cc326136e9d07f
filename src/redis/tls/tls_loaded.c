/* OpenSSL is loaded when a URL asks for TLS. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "redis/tls/tls.h"
#include "redis/tls/tls_context.h"

/* clang-format off */
#define PLACE(name) {#name, offsetof(struct library, name)},
static const struct {
	char name[40];
	size_t offset;
} places[] = {
	FUNCTIONS(PLACE)
};
/* clang-format on */

/* That of the headers first, then another one with the same functions. */
#define TEXT_OF(number) "libssl.so." #number
#define SONAME(number) TEXT_OF(number)
#ifdef OPENSSL_SHLIB_VERSION /* since OpenSSL 3 */
#define BUILT_WITH SONAME(OPENSSL_SHLIB_VERSION)
#else
#define BUILT_WITH "libssl.so." SHLIB_VERSION_NUMBER
#endif
#if OPENSSL_SHLIB_VERSION == 3
#define OTHER "libssl.so.1.1"
#else
#define OTHER "libssl.so.3"
#endif

/* For packagers: what is loaded (systemd.io/ELF_DLOPEN_METADATA). */
#define NOTE_TEXT                                                      \
	"[{\"feature\":\"tls\",\"description\":\"rediss:// servers\"," \
	"\"priority\":\"recommended\","                                \
	"\"soname\":[\"" BUILT_WITH "\",\"" OTHER "\"]}]"

static const struct {
	uint32_t name_size, text_size, type;
	char name[4];
	_Alignas(4) char text[(sizeof(NOTE_TEXT) + 3) & ~(size_t)3];
} note __attribute__((used, section(".note.dlopen"), aligned(4))) = {4,
    sizeof(NOTE_TEXT), 0x407c0c0a, "FDO", NOTE_TEXT};

/* The absence of the first one is reported: it is the one to install. Never
 * closed: the process exits with it. */
int
tls_library_fill(struct library *lib, char *error)
{
	void *handle = dlopen(BUILT_WITH, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL) {
		snprintf(error, TLS_ERROR_MAX,
		    "TLS needs OpenSSL, which cannot be loaded: %s", dlerror());
		handle = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
	}
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
