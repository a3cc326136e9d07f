#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/secret.h"

static void *
or_die(void *memory)
{
	static const char message[] = "rlockrun: out of memory\n";

	if (memory != NULL)
		return memory;
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EXITCODE_RESOURCE);
	exit(EXITCODE_RESOURCE);
}

void *
mem_alloc(size_t size)
{
	return or_die(calloc(1, size > 0 ? size : 1));
}

void *
mem_realloc(void *memory, size_t size)
{
	return or_die(realloc(memory, size));
}

char *
mem_strdup(const char *text)
{
	return or_die(strdup(text));
}

char *
mem_strndup(const char *text, size_t length)
{
	return or_die(strndup(text, length));
}

char *
mem_vprintf(const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	return or_die(text);
}

char *
mem_printf(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = mem_vprintf(format, arguments);
	va_end(arguments);
	return text;
}

char *
mem_append(char *list, char separator, const char *text)
{
	char *longer = list == NULL
			   ? mem_strdup(text)
			   : mem_printf("%s%c%s", list, separator, text);

	free(list);
	return longer;
}

char *
mem_secret(size_t size)
{
	return or_die(secret_alloc(size));
}

char *
mem_secret_copy(const char *text, size_t length)
{
	return memcpy(mem_secret(length + 1), text, length);
}
