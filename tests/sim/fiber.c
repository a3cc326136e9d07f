#include "fiber.h"

#include <stdbool.h>
#include <stdlib.h>

#if defined(__has_feature)
#define HAS_ASAN __has_feature(address_sanitizer)
#else
#define HAS_ASAN 0
#endif

#if HAS_ASAN || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(stack, size) ((void)0)
#define __sanitizer_start_switch_fiber(fake, stack, size) ((void)0)
#define __sanitizer_finish_switch_fiber(fake, stack, size) ((void)0)
#endif

void
fiber_init(struct fiber *fiber, void *stack, size_t size, void (*main)(void))
{
	ASAN_UNPOISON_MEMORY_REGION(stack, size);
	*fiber = (struct fiber){.stack = stack, .size = size};
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stack;
	fiber->context.uc_stack.ss_size = size;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, main, 0);
}

/* Where the first fiber has its stack only the sanitizer knows. */
void
fiber_begin(struct fiber *from)
{
	(void)from;
	__sanitizer_finish_switch_fiber(NULL, &from->stack, &from->size);
}

/* Not by swapcontext(3): clang's runtime warns of each program that calls it,
 * and forgets what it knew of the other stack. */
void
fiber_switch(struct fiber *from, struct fiber *to)
{
	volatile bool is_back = false;

	getcontext(&from->context);
	if (!is_back) {
		is_back = true;
		__sanitizer_start_switch_fiber(&from->fake, to->stack,
		    to->size);
		setcontext(&to->context);
		abort();
	}
	__sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
}

_Noreturn void
fiber_leave(struct fiber *to)
{
	__sanitizer_start_switch_fiber(NULL, to->stack, to->size);
	setcontext(&to->context);
	abort();
}
