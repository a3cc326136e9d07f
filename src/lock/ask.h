/* What is asked of the servers of a lock, be it one or several: quorum.h. What
 * they answer is a vote: yes, no or not yet, see answer_vote. */
#ifndef ASK_H
#define ASK_H

enum ask {
	/* The questions. With several servers all of them vote; there is one
	 * question at a time.
	 *
	 * Yes, if a majority grants it in time. Not yet: it is to be asked for
	 * again at once. */
	ASK_GRANT,
	/* Yes or no, as a majority says. A no counts only from a server that
	 * had the lock. */
	ASK_RENEW,
	/* Answered when a majority has freed it and the others will, or when
	 * all have had time to answer. */
	ASK_RELEASE,

	/* Sent to all; with several servers, the reply is not delivered. */
	ASK_SEND,
	/* Sent to the servers that owe a grant; to a single one in any case. */
	ASK_UNDO,

	/* For a single server alone. The renewal that is out once more, on a
	 * fresh connection. A yes or a no on either connection answers both; a
	 * failure is delivered when the other has failed, too. The other
	 * connection is left open until its reply. Replaces an earlier one. -1
	 * also when no renewal is out. */
	ASK_RENEW_AGAIN,

	/* For several servers alone. A grant again from those that lacked it at
	 * the last renewal: if a majority agreed to that from all, otherwise
	 * from those that have been away since they had it. It counts for
	 * nothing, and no reply is delivered. */
	ASK_PLANT,
	/* The grant that was asked for last, for the servers that have run
	 * nothing and are to be asked again. */
	ASK_GRANT_AGAIN,
	/* Sent to the servers with a stray grant. */
	ASK_RECALL,
};

#endif
