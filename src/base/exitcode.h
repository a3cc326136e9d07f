/* Exit codes of rlockrun: the one list, shown in EXIT STATUS of rlockrun(1).
 * Those from 64 to 78 are sysexits(3). */
#ifndef EXITCODE_H
#define EXITCODE_H

enum exitcode {
	EXITCODE_OK = 0,
	EXITCODE_USAGE = 64,	   /* wrong usage on the command line */
	EXITCODE_UNAVAILABLE = 69, /* no server answered in time */
	EXITCODE_INTERNAL = 70,	   /* internal error */
	EXITCODE_RESOURCE = 71,	   /* out of a resource, job can't be guarded */
	EXITCODE_BUSY = 75,	   /* busy, or the wait ran out (-E) */
	EXITCODE_NOT_A_LOCK = 76,  /* the key holds something else */
	EXITCODE_REFUSED = 77,	   /* the server refuses us */
	EXITCODE_CONFIG = 78,	   /* wrong environment or password file */
	EXITCODE_LOST = 79,	   /* the lock was lost under the job */
	EXITCODE_OVERRUN = 124,	   /* stopped by --max-run */
	EXITCODE_CANNOT_RUN = 126, /* the command can't be run */
	EXITCODE_NOT_FOUND = 127,  /* the command is not found */
	EXITCODE_SIGNAL = 128,	   /* plus the number of the signal */
};

#endif
