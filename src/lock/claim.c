#include "lock/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/key.h"
#include "lock/outer.h"
#include "lock/record.h"

enum { LIFE_MS = 60 * 60 * 1000 };

/* In a cluster the helper keys may lie in another slot, mostly on another node.
 */
enum claim_tier
claim_top_tier(const struct lock_config *config)
{
	return config->server->cluster && !key_is_placeable(config->key)
		   ? CLAIM_PLAIN
		   : CLAIM_FULL;
}

int
claim_init(struct claim *claim, const struct lock_config *config)
{
	char outer[TOKEN_SIZE];

	*claim =
	    (struct claim){.config = config, .tier = claim_top_tier(config)};
	holder_self(&claim->self);
	key_names_init(&claim->keys, config->key);
	if (token_make(claim->token) == -1)
		return -1;
	waiter_name(claim->waiter, *config->kind->letter, claim->token,
	    &claim->self);
	claim->doorbell = key_of_token(config->key, 'm', claim->token);
	claim->record = record_make(config, &claim->self);
	if (claim->doorbell == NULL || claim->record == NULL)
		return -1;
	claim->outer = outer_find(config->outer, config->key, outer);
	if (claim->outer != NULL) {
		memcpy(claim->run, claim->token, sizeof(claim->run));
		memcpy(claim->token, outer, sizeof(claim->token));
	}
	return 0;
}

void
claim_fini(struct claim *claim)
{
	key_names_fini(&claim->keys);
	free(claim->doorbell);
	free(claim->record);
}

bool
claim_change_token(struct claim *claim)
{
	return token_make(claim->token) == 0;
}

void
claim_adopt_token(struct claim *claim, const char *token)
{
	if (claim->former_count == CLAIM_FORMER_MAX)
		memmove(claim->former[0], claim->former[1],
		    --claim->former_count * sizeof(*claim->former));
	memcpy(claim->former[claim->former_count++], claim->token,
	    sizeof(claim->token));
	memcpy(claim->token, token, sizeof(claim->token));
}

bool
claim_supersede_token(struct claim *claim)
{
	char token[TOKEN_SIZE];

	if (token_make(token) == -1)
		return false;
	claim_adopt_token(claim, token);
	return true;
}

void
claim_share(struct claim *claim, const struct claim *with)
{
	memcpy(claim->token, with->token, sizeof(claim->token));
	memcpy(claim->run, with->run, sizeof(claim->run));
}

void
claim_forget_outer(struct claim *claim)
{
	claim->outer = NULL;
	memcpy(claim->token, claim->run, sizeof(claim->token));
	claim->run[0] = '\0';
	claim->tier = claim_top_tier(claim->config);
}

void
claim_expect_head(struct claim *claim, const char *waiter)
{
	claim->head[0] = '\0';
	if (strlen(waiter) < sizeof(claim->head))
		memcpy(claim->head, waiter, strlen(waiter) + 1);
}

/* The last runs are in :r, which has its own life. */
int64_t
claim_life_ms(const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	const int64_t lives[] = {LIFE_MS, 10 * config->ttl_ms,
	    config->history_ms, config->once_ms, config->hold_ms + LIFE_MS,
	    4 * config->expect_ms};
	int64_t life = claim->life_ms;

	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++)
		if (lives[i] > life)
			life = lives[i];
	return life;
}

bool
claim_needs_helpers(const struct claim *claim)
{
	return claim->outer == NULL && (config_needs_history(claim->config) ||
					   config_needs_queue(claim->config));
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
