/* Mistakes that chaos must find, as a library for LD_PRELOAD; MISTAKE is one:
 *
 *     spares      the guard kills nobody
 *     forgets     the guard does not see the end of a lease
 *     swallows    the guard hands no signal on to the job
 *     lies        rlockrun exits with 0 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool
makes(const char *mistake, const char *program)
{
	const char *made = getenv("MISTAKE");
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return made != NULL && strcmp(made, mistake) == 0 &&
	       strcmp(name, program) == 0;
}

static bool
is_dropped(int signo)
{
	return makes(signo == SIGKILL ? "spares" : "swallows",
	    "rlockrun-guard");
}

int
kill(pid_t pid, int signo)
{
	int (*real)(pid_t, int) = dlsym(RTLD_NEXT, "kill");

	return is_dropped(signo) ? 0 : real(pid, signo);
}

long
syscall(long number, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long words[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_pidfd_send_signal && is_dropped((int)words[1]))
		return 0;
	if (number == SYS_timerfd_settime && makes("forgets", "rlockrun-guard"))
		return 0;
	return real(number, words[0], words[1], words[2], words[3], words[4],
	    words[5]);
}

/* exit(3) of the C library's own, after main(), is not ours to replace. */
__attribute__((destructor)) static void
lie(void)
{
	if (makes("lies", "rlockrun"))
		_exit(0);
}
