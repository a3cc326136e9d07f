/* Allocation for the time before a job exists: these die with
 * EXITCODE_RESOURCE when memory is out. What runs beside a job uses malloc(3)
 * and handles its failure. */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

void *mem_alloc(size_t size); /* zeroed */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t length);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Overwrites a secret in a way that the compiler keeps. */
void mem_wipe(void *secret, size_t length);

#endif
