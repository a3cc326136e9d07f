#include "app/output.h"

#include <errno.h>
#include <stdio.h>

#include "base/exitcode.h"
#include "base/log.h"

void
output_note(struct output *output)
{
	if (ferror(stdout) && output->error == 0)
		output->error = errno;
}

int
output_check(struct output *output)
{
	fflush(stdout);
	output_note(output);
	if (output->error == 0)
		return EXITCODE_OK;
	errno = output->error;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}
