/* OpenSSL is linked: `make TLS=linked`, and `make static`. */
#include "redis/tls/tls_context.h"

/* clang-format off */
#define ENTRY(name) .name = name, /* NOLINT */
int
tls_library_fill(struct library *lib, char *error)
{
	(void)error;
	*lib = (struct library){
		FUNCTIONS(ENTRY)
	};
	return 0;
}
/* clang-format on */
