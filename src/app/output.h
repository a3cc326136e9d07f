/* Whether stdout took what was printed. */
#ifndef OUTPUT_H
#define OUTPUT_H

struct output {
	int error; /* errno of the first failure, or 0 */
};

/* To be called soon after what was printed: what has failed before anything
 * else could is the reason. */
void output_note(struct output *output);

/* Flushes stdout. EXITCODE_OK; or EXITCODE_RESOURCE after a message. */
int output_check(struct output *output);

#endif
