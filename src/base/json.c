#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/num.h"

void
json_text(FILE *out, const char *name, const char *text)
{
	char *escaped = escape_text(text, ESCAPE_JSON);

	fprintf(out, ",\"%s\":\"%s\"", name, escaped);
	free(escaped);
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
json_number(FILE *out, const char *name, const char *text)
{
	int64_t value = 0;
	bool known = num_int(text, 0, INT64_MAX, &value) == 0;

	json_integer(out, name, known, value);
}
