/* Replies of a server for tests of decoders, written as lines. Names that tests
 * of answers have in common. */
#ifndef LINES_H
#define LINES_H

#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "tap.h"

#define TOKEN "01234567-89ab-4def-8123-456789abcdef"
#define WAITER "x:" TOKEN ":7@web-3"
#define NOW "1700000000000"
#define ENTRY "+" TOKEN " 17 1699999995000 run 0 7 h u l backup"

static inline void *
parse(const char *wire)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;

	redisReaderFeed(reader, wire, strlen(wire));
	redisReaderGetReply(reader, &reply);
	redisReaderFree(reader);
	if (reply == NULL)
		abort();
	return reply;
}

/* Elements, one a line: "+text" is a text, "[" and "]" enclose an array. */
static inline size_t
put_array(char *wire, size_t size, const char **line)
{
	char elements[8192] = "";
	size_t length = 0;
	int count = 0;

	for (; **line != '\0' && **line != ']'; count++) {
		const char *end = strchrnul(*line, '\n');
		int words = (int)(end - *line);

		if (**line == '[') {
			*line += 2;
			length += put_array(elements + length,
			    sizeof(elements) - length, line);
			end = strchrnul(*line, '\n');
		} else if (**line == '+') {
			length += (size_t)snprintf(elements + length,
			    sizeof(elements) - length, "$%d\r\n%.*s\r\n",
			    words - 1, words - 1, *line + 1);
		} else {
			length += (size_t)snprintf(elements + length,
			    sizeof(elements) - length, ":%.*s\r\n", words,
			    *line);
		}
		*line = *end == '\0' ? end : end + 1;
	}
	return (size_t)snprintf(wire, size, "*%d\r\n%s", count, elements);
}

static inline void *
array(const char *lines)
{
	char wire[8300];

	put_array(wire, sizeof(wire), &lines);
	return parse(wire);
}

/* What a decoder has made of it, as one line. */
static char told[4096];

__attribute__((format(printf, 1, 2))) static inline void
tell(const char *format, ...)
{
	size_t length = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + length, sizeof(told) - length, format, arguments);
	va_end(arguments);
}

static inline void
tell_text(const char *name, const char *text)
{
	if (text != NULL && *text != '\0')
		tell(" %s=%s", name, text);
}

static inline void
tell_number(const char *name, int64_t value)
{
	if (value != 0)
		tell(" %s=%" PRId64, name, value);
}

/* For the name of a test: one line. */
static inline const char *
escaped(const char *lines)
{
	static char text[400];

	snprintf(text, sizeof(text), "%s", lines);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\r' || *c == '\n' || *c == '#')
			*c = ' ';
	return text;
}

#endif
