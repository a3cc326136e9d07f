/* Stacks between which the processor is passed on. AddressSanitizer hears of
 * each change: otherwise it takes another stack for this one. */
#ifndef FIBER_H
#define FIBER_H

#include <stddef.h>
#include <ucontext.h>

struct fiber {
	ucontext_t context;
	const void *stack; /* its lowest byte */
	size_t size;
	void *fake; /* of the sanitizer, while another one runs */
};

/* Calls main on this stack, as soon as something switches to it. What was
 * there before, such as frames of a fiber that was dropped, is forgotten. */
void fiber_init(struct fiber *fiber, void *stack, size_t size,
    void (*main)(void));
/* main begins with this. */
void fiber_begin(struct fiber *from);
/* Returns when something switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* Never to come back: main may not return. */
_Noreturn void fiber_leave(struct fiber *to);

#endif
