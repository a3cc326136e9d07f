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

struct list {
	char *text;
	size_t size;
	size_t shown, more;
};

static void
add_name(struct list *list, const char *name)
{
	size_t length = strlen(list->text);
	char quoted[QUOTED_MAX];

	escape_quote(name, quoted, sizeof(quoted));
	if (list->more > 0 || list->shown == SHOWN_MAX ||
	    length + strlen(quoted) + MORE_MAX > list->size) {
		list->more++;
		return;
	}
	snprintf(list->text + length, list->size - length, "%s%s",
	    list->shown > 0 ? ", " : "", quoted);
	list->shown++;
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

static void
add_general_name(struct list *list, const struct library *lib,
    const GENERAL_NAME *general)
{
	bool is_address = general->type == GEN_IPADD;
	const ASN1_STRING *string =
	    is_address ? general->d.iPAddress : general->d.dNSName;
	const unsigned char *bytes = lib->ASN1_STRING_get0_data(string);
	int length = lib->ASN1_STRING_length(string);
	char name[NAME_MAX_BYTES] = "?";

	if (!is_address)
		copy_bytes(name, bytes, length);
	else if (length == sizeof(struct in_addr))
		inet_ntop(AF_INET, bytes, name, sizeof(name));
	else if (length == sizeof(struct in6_addr))
		inet_ntop(AF_INET6, bytes, name, sizeof(name));
	add_name(list, name);
}

static void
add_alternatives(struct list *list, const struct library *lib,
    const X509 *certificate)
{
	GENERAL_NAMES *names = lib->X509_get_ext_d2i(certificate,
	    NID_subject_alt_name, NULL, NULL);
	/* The typed functions are calls of these, which must be loaded. */
	const OPENSSL_STACK *stack = (const OPENSSL_STACK *)names;
	int count = names == NULL ? 0 : lib->OPENSSL_sk_num(stack);

	for (int i = 0; i < count; i++) {
		const GENERAL_NAME *general = lib->OPENSSL_sk_value(stack, i);

		if (general->type == GEN_DNS || general->type == GEN_IPADD)
			add_general_name(list, lib, general);
	}
	if (names != NULL)
		lib->GENERAL_NAMES_free(names);
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
	struct list list = {.text = text, .size = size - sizeof(ADVICE)};
	size_t length;

	text[0] = '\0';
	add_alternatives(&list, lib, certificate);
	length = strlen(text);
	if (list.shown == 0)
		describe_common_name(lib, certificate, text, size);
	else if (list.more > 0)
		snprintf(text + length, size - length, " and %zu more" ADVICE,
		    list.more);
	else
		snprintf(text + length, size - length, ADVICE);
}
