/* How much a message matters, which decides where it is seen. */
#ifndef LEVEL_H
#define LEVEL_H

enum level {
	LEVEL_NONE,
	LEVEL_LOG,  /* only in logs */
	LEVEL_INFO, /* on stderr with -v */
	LEVEL_BUSY, /* without -q */
	LEVEL_WARNING,
	LEVEL_ERROR, /* why a run ends */
	LEVEL_COUNT,
};

#endif
