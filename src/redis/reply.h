/* What an error reply means, by what was going on: the table of PROTOCOL in
 * rlockrun(1). */
#ifndef REPLY_H
#define REPLY_H

enum reply_phase { REPLY_ACQUIRING, REPLY_HOLDING, REPLY_RELEASING };

enum reply_verdict {
	REPLY_RETRY,	  /* the server is busy with itself: back off */
	REPLY_RECONNECT,  /* not the server to talk to: resolve and connect */
	REPLY_NOT_A_LOCK, /* the key holds something else */
	REPLY_REFUSED,	  /* password, ACL: people must act */
	REPLY_LOST,	  /* the lock is gone */
	REPLY_REPORT,	  /* say it, there is nothing else to do */
};

/* error is the reply's text without the leading '-'. */
enum reply_verdict reply_judge(enum reply_phase phase, const char *error);

/* The error in words that help, where the server's own don't; else as it is.
 */
const char *reply_explain(const char *error);

#endif
