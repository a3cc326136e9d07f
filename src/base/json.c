#include "base/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/num.h"

#define ELLIPSIS "..."

void
json_string(FILE *out, const char *text, size_t max)
{
	char piece[ESCAPE_SIZE];
	size_t needed = 0, room = max;
	bool whole;

	for (const char *at = text; *at != '\0' && needed <= max;)
		needed += escape_next(&at, ESCAPE_JSON, piece);
	whole = needed <= max;
	if (!whole)
		room -= strlen(ELLIPSIS);
	fputc('"', out);
	while (*text != '\0') {
		size_t length = escape_next(&text, ESCAPE_JSON, piece);

		if (length > room)
			break;
		fwrite(piece, 1, length, out);
		room -= length;
	}
	fprintf(out, "%s\"", whole ? "" : ELLIPSIS);
}

void
json_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	json_string(out, text, JSON_WHOLE);
}

void
json_text_if_any(FILE *out, const char *name, const char *text)
{
	if (*text != '\0')
		json_text(out, name, text);
	else
		fprintf(out, ",\"%s\":null", name);
}

void
json_integer(FILE *out, const char *name, bool known, int64_t value)
{
	if (known)
		fprintf(out, ",\"%s\":%" PRId64, name, value);
	else
		fprintf(out, ",\"%s\":null", name);
}

void
json_bool(FILE *out, const char *name, bool value)
{
	fprintf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

void
json_number(FILE *out, const char *name, const char *text)
{
	int64_t value = 0;
	bool known = num_int(text, 0, INT64_MAX, &value) == 0;

	json_integer(out, name, known, value);
}
