/* What is asked of the server of a lock: single.h. What it answers is yes, no
 * or not yet, see answer_vote. */
#ifndef ASK_H
#define ASK_H

enum ask {
	/* The questions, one at a time. A grant or a renewal that too few
	 * replicas have is no yes. */
	ASK_GRANT,
	ASK_RENEW,
	ASK_RELEASE,

	/* Anything else: the reply is not looked at on its way. */
	ASK_SEND,

	/* The renewal that is out once more, on a fresh connection. A yes or a
	 * no on either connection answers both; a failure is delivered when the
	 * other has failed, too. The other connection is left open until its
	 * reply. Replaces an earlier one. -1 also when no renewal is out. */
	ASK_RENEW_AGAIN,
};

#endif
