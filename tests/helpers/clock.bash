# Servers with clocks of their own.
# shellcheck shell=bash

# prepare_clock: the clock of each server that bin/redis-server starts is ahead by the
# seconds in the file `clock`, or stands still at those behind an `=` in there. (In a
# server with jemalloc, which asks for the time first, libfaketime fails.)
prepare_clock() {
	command -v cc >/dev/null || not_here 'no compiler'
	cc -D_GNU_SOURCE -shared -fPIC -o clock.so -x c - <<-END
		#include <fcntl.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <sys/time.h>
		#include <unistd.h>
		int
		gettimeofday(struct timeval *restrict now, void *restrict zone)
		{
			char text[20] = "";
			int file = open("$PWD/clock", O_RDONLY | O_CLOEXEC);
			if (read(file, text, sizeof(text) - 1) == -1)
				text[0] = 0;
			close(file);
			syscall(SYS_gettimeofday, now, zone);
			if (*text == '=')
				*now = (struct timeval){atol(text + 1), 0};
			else
				now->tv_sec += atol(text);
			return 0;
		}
	END
	mkdir bin
	cat >bin/redis-server <<-END
		#!/bin/sh
		case \$* in *--sentinel*) ;; *) export LD_PRELOAD='$PWD/clock.so' ;; esac
		exec '$(command -v redis-server)' "\$@"
	END
	chmod +x bin/redis-server
}

# own_clock: as own_server, with such a clock.
own_clock() {
	prepare_clock
	PATH=$PWD/bin:$PATH own_server
}

step_clock() {
	echo "$1" >clock.new
	mv clock.new clock
}

# stop_clock: no lease ends, and whoever was woken has its second to come for good.
stop_clock() {
	step_clock "=$(date +%s)"
}
