#include "sink/metrics_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/sha256.h"

#define PREFIX "rlockrun-"
#define PLAIN                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789._:-"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Of the part behind the prefix: whole, or before a digest. */
enum { WHOLE_MAX = 200, BEGINNING_MAX = 120 };

/* Returns the length of what fits. */
static size_t
encode_name(const char *key, size_t max, char *text)
{
	size_t length = 0;

	for (; *key != '\0'; key++) {
		bool plain = strchr(PLAIN, *key) != NULL;
		size_t added = plain ? 1 : strlen("%XX");

		if (added > max - length)
			break;
		if (plain)
			text[length] = *key;
		else
			sprintf(text + length, "%%%02X", (unsigned char)*key);
		length += added;
	}
	text[length] = '\0';
	return *key == '\0' ? length : max + 1;
}

void
metrics_name_file(const char *key, char name[METRICS_NAME_SIZE])
{
	char *part = stpcpy(name, PREFIX);

	if (encode_name(key, WHOLE_MAX, part) <= WHOLE_MAX)
		return;
	encode_name(key, BEGINNING_MAX, part);
	part += strlen(part);
	*part++ = '~';
	sha256_hex(key, strlen(key), part);
}

/* escape_next writes \n, \t and \xNN; whatever else begins with a backslash is
 * a backslash. */
static char *
put_label_escape(char *end, char kind, unsigned char byte)
{
	if (kind == 'n')
		return stpcpy(end, "\\n");
	return end + sprintf(end, REPLACEMENT "%02x", byte);
}

static char *
put_plain(char *end, const char *out, size_t length)
{
	if (length == strlen(REPLACEMENT) &&
	    memcmp(out, REPLACEMENT, length) == 0) {
		for (size_t i = 0; i < length; i++)
			end = put_label_escape(end, 'x', (unsigned char)out[i]);
		return end;
	}
	if (*out == '"' || *out == '\\')
		*end++ = '\\';
	memcpy(end, out, length);
	return end + length;
}

char *
metrics_name_label(const char *key)
{
	enum { MAX = 3 * (sizeof(REPLACEMENT "xx") - 1) };
	char *label = mem_alloc(strlen(key) * MAX + 1);
	char *end = label;

	while (*key != '\0') {
		unsigned char byte = (unsigned char)*key;
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&key, ESCAPE_TEXT, out);

		if (*out == '\\' && length > 1)
			end = put_label_escape(end, out[1], byte);
		else
			end = put_plain(end, out, length);
	}
	return label;
}
