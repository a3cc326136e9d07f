#include "lock/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/key.h"
#include "lock/outer.h"

/* In a cluster the helper keys may lie in another slot, mostly on another node.
 */
enum claim_tier
claim_top_tier(const struct lock_config *config)
{
	for (size_t i = 0; i < config->server_count; i++)
		if (config->servers[i].cluster &&
		    !key_is_placeable(config->key))
			return CLAIM_KEY_ONLY;
	if (config->server_count > 1)
		return CLAIM_WITH_NESTED;
	return config->history_ms > 0 ? CLAIM_WITH_HISTORY : CLAIM_WITH_QUEUE;
}

/* The outer run of a nest is the one that is remembered. */
static void
enter_top_tier(struct claim *claim)
{
	claim->tier = claim_top_tier(claim->config);
	if (claim->tier == CLAIM_WITH_HISTORY && claim->outer != NULL)
		claim->tier = CLAIM_WITH_QUEUE;
}

int
claim_init(struct claim *claim, const struct lock_config *config)
{
	char outer[TOKEN_SIZE];

	*claim = (struct claim){.config = config};
	holder_self(&claim->self);
	key_names_init(&claim->keys, config->key);
	claim->shared_doorbell = claim->keys.doorbell;
	claim->keys.doorbell = NULL;
	if (token_make(claim->token) == -1)
		return -1;
	waiter_name(claim->waiter, *config->kind->letter, claim->token,
	    &claim->self);
	claim->keys.doorbell = key_doorbell(config->key, claim->token);
	if (claim->keys.doorbell == NULL)
		return -1;
	claim->outer = outer_find(config->outer, config->key, outer);
	if (claim->outer != NULL) {
		memcpy(claim->run, claim->token, sizeof(claim->run));
		memcpy(claim->token, outer, sizeof(claim->token));
	}
	enter_top_tier(claim);
	return 0;
}

void
claim_fini(struct claim *claim)
{
	key_names_fini(&claim->keys);
	free(claim->shared_doorbell);
}

bool
claim_change_token(struct claim *claim)
{
	return token_make(claim->token) == 0;
}

bool
claim_supersede_token(struct claim *claim)
{
	if (claim->former_count == CLAIM_FORMER_MAX)
		memmove(claim->former[0], claim->former[1],
		    --claim->former_count * sizeof(*claim->former));
	memcpy(claim->former[claim->former_count++], claim->token,
	    sizeof(claim->token));
	return token_make(claim->token) == 0;
}

void
claim_forget_outer(struct claim *claim)
{
	claim->outer = NULL;
	memcpy(claim->token, claim->run, sizeof(claim->token));
	claim->run[0] = '\0';
	if (claim->tier == CLAIM_WITH_QUEUE ||
	    ((config_needs_history(claim->config) ||
		 config_needs_queue(claim->config)) &&
		claim->tier != CLAIM_KEY_ONLY))
		enter_top_tier(claim);
}

void
claim_expect_head(struct claim *claim, const char *waiter)
{
	claim->head[0] = '\0';
	if (strlen(waiter) < sizeof(claim->head))
		memcpy(claim->head, waiter, strlen(waiter) + 1);
}

void
claim_note_ticket(struct claim *claim, const char *ticket)
{
	if (claim->ticket[0] == '\0')
		snprintf(claim->ticket, sizeof(claim->ticket), "%s", ticket);
}

int64_t
claim_history_ms(const struct claim *claim)
{
	const struct lock_config *config = claim->config;

	return config->history_ms > 2 * config->ttl_ms ? config->history_ms
						       : 2 * config->ttl_ms;
}

const struct kind *
claim_kind(const struct claim *claim)
{
	return claim->outer != NULL ? claim->outer : claim->config->kind;
}

int
claim_permits(const struct claim *claim)
{
	const struct lock_config *config = claim->config;

	return config->kind == &kind_permits ? config->permits : 0;
}
