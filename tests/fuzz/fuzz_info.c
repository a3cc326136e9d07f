/* What INFO answers: texts that fit, numbers from 0, or none. The first line is
 * the name that is looked for. */
#include "fuzz.h"
#include "redis/info.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	const char *name;
	char found[16];

	require(text != NULL);
	name = strsep(&rest, "\n");
	info_text(rest, name, found, sizeof(found));
	require(memchr(found, '\0', sizeof(found)) != NULL);
	require(strpbrk(found, "\r\n") == NULL);
	require(*found == '\0' || strstr(rest, found) != NULL);
	require(info_number(rest, name) >= -1);
	require(info_online_replicas(rest) >= -1);
	free(text);
	return 0;
}
