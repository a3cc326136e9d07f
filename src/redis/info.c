#include "redis/info.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* The next line behind this one, or NULL. */
static const char *
next_info_line(const char *line)
{
	line += strcspn(line, "\r\n");
	line += strspn(line, "\r\n");
	return *line != '\0' ? line : NULL;
}

void
info_text(const char *info, const char *name, char *text, size_t size)
{
	size_t length = strlen(name);

	text[0] = '\0';
	for (; info != NULL; info = next_info_line(info))
		if (strncmp(info, name, length) == 0 && info[length] == ':') {
			info += length + 1;
			snprintf(text, size, "%.*s", (int)strcspn(info, "\r\n"),
			    info);
			return;
		}
}

int64_t
info_number(const char *info, const char *name)
{
	char digits[24];
	int64_t number = -1;

	info_text(info, name, digits, sizeof(digits));
	(void)num_int(digits, 0, INT64_MAX, &number);
	return number;
}

bool
info_is(const char *info, const char *name, const char *value)
{
	char text[64];

	info_text(info, name, text, sizeof(text));
	return strcmp(text, value) == 0;
}

/* slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0 */
int64_t
info_online_replicas(const char *info)
{
	int64_t count = info == NULL ? -1 : 0;

	for (; info != NULL; info = next_info_line(info)) {
		const char *online, *number;
		size_t digits;

		if (strncmp(info, "slave", strlen("slave")) != 0)
			continue;
		number = info + strlen("slave");
		digits = strspn(number, "0123456789");
		online = strstr(info, ",state=online,");
		count += digits > 0 && number[digits] == ':' &&
			 online != NULL &&
			 online < info + strcspn(info, "\r\n");
	}
	return count;
}
