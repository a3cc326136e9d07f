#include "redis/tls/tls_names.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

enum { SHOWN_MAX = 5, NAME_MAX_BYTES = 256, QUOTED_MAX = 128, MORE_MAX = 24 };

#define ADVICE " (use such a name in the URL)"

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
    char *text, size_t size)
{
	char bytes[NAME_MAX_BYTES], name[NAME_MAX_BYTES], quoted[QUOTED_MAX];
	int length = lib->X509_NAME_get_text_by_NID(lib->X509_get_subject_name(
							certificate),
	    NID_commonName, bytes, sizeof(bytes));

	if (length <= 0) {
		snprintf(text, size, "no host");
		return;
	}
	copy_bytes(name, bytes, length);
	escape_quote(name, quoted, sizeof(quoted));
	snprintf(text, size,
	    "no host: its common name %s does not count, only a "
	    "subjectAltName does",
	    quoted);
}

void
tls_names_describe(const struct library *lib, X509 *certificate, char *text,
    size_t size)
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
		    length + strlen(quoted) + MORE_MAX > size - sizeof(ADVICE))
			more++;
		else
			length += (size_t)snprintf(text + length, size - length,
			    "%s%s", shown++ > 0 ? ", " : "", quoted);
	}
	lib->GENERAL_NAMES_free(names);
	if (shown == 0)
		describe_common_name(lib, certificate, text, size);
	else if (more > 0)
		snprintf(text + length, size - length, " and %zu more" ADVICE,
		    more);
	else
		snprintf(text + length, size - length, ADVICE);
}
