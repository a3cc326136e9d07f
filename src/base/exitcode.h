/* Exit codes of rlockrun, as in EXIT STATUS of rlockrun(1). Those from 64 to 78
 * are from sysexits(3). */
#ifndef EXITCODE_H
#define EXITCODE_H

enum exitcode {
	EXITCODE_OK = 0,
	EXITCODE_WARNINGS = 1,	   /* of --doctor: no error */
	EXITCODE_USAGE = 64,	   /* wrong usage on the command line */
	EXITCODE_UNAVAILABLE = 69, /* no server replied in time */
	EXITCODE_INTERNAL = 70,	   /* internal error */
	EXITCODE_RESOURCE = 71,	  /* out of a resource, job cannot be guarded */
	EXITCODE_BUSY = 75,	  /* busy, or the wait timed out (-E) */
	EXITCODE_NOT_A_LOCK = 76, /* the key is not a lock */
	EXITCODE_REFUSED = 77,	  /* the server denied access */
	EXITCODE_CONFIG = 78,	  /* wrong environment or file */
	EXITCODE_LOST = 79,	  /* the lock was lost while the job ran */
	EXITCODE_REPLACED = 80,	  /* the job was stopped for a --replace */
	EXITCODE_OVERRUN = 124,	  /* stopped by --max-run */
	EXITCODE_CANNOT_RUN = 126, /* the command cannot be executed */
	EXITCODE_NOT_FOUND = 127,  /* the command is not found */
	EXITCODE_SIGNAL = 128,	   /* plus the number of the signal */
};

#endif
