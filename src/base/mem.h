/* Allocation before a job exists: these functions end the program with
 * EXITCODE_RESOURCE when memory is out. Code that runs beside a job uses
 * malloc(3) and handles its failure. */
#ifndef MEM_H
#define MEM_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size); /* zeroed */
void *mem_realloc(void *memory, size_t size);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t length);

/* Frees list, which may be NULL, and returns it with one more text, after the
 * separator. */
char *mem_append(char *list, char separator, const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));

/* As secret_alloc: to be freed by secret_free. The second one holds a copy of
 * the text, with a NUL behind it. */
char *mem_secret(size_t size);
char *mem_secret_copy(const char *text, size_t length);

#endif
