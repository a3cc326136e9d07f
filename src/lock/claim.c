#include "lock/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lock/outer.h"

enum { LIFE_MS = 60 * 60 * 1000 };
enum { TOKEN_LENGTH = TOKEN_SIZE - 1 };

/* --- keys ------------------------------------------------------------- */

/* As Redis Cluster sees it: the first '{' with a later '}' and something
 * between them. */
static bool
has_hash_tag(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return close != NULL && close > open + 1;
}

char *
key_helper(const char *key, char letter)
{
	return mem_printf(has_hash_tag(key) ? "%s:rlkt:%c" : "{%s}:rlk:%c", key,
	    letter);
}

/* Of a token, which is put at its end. */
static char *
key_of_token(const char *key, char letter)
{
	return mem_printf(has_hash_tag(key) ? "%s:rlkt:%c:%036d"
					    : "{%s}:rlk:%c:%036d",
	    key, letter, 0);
}

void
key_set_token(char *key, const char *token)
{
	memcpy(key + strlen(key) - TOKEN_LENGTH, token, TOKEN_LENGTH);
}

void
key_names_init(struct key_names *names, const char *key, const char *token)
{
	*names = (struct key_names){.lock = (char *)key,
	    .info = key_helper(key, 'i'),
	    .runs = key_helper(key, 'r'),
	    .queue = key_helper(key, 'q'),
	    .alive = key_helper(key, 'l'),
	    .doorbell = key_of_token(key, 'm'),
	    .nested = key_of_token(key, 'n')};
	if (token == NULL)
		return;
	key_set_token(names->doorbell, token);
	key_set_token(names->nested, token);
}

void
key_names_fini(struct key_names *names)
{
	for (enum key i = KEY_LOCK + 1; i < KEY_COUNT; i++)
		free(names->all[i]);
}

bool
key_is_placeable(const char *key)
{
	return has_hash_tag(key) || (*key != '\0' && strchr(key, '}') == NULL);
}

/* --- a claim ----------------------------------------------------------- */

/* In a cluster the helper keys may lie in another slot, mostly on another node.
 */
enum claim_tier
claim_top_tier(const struct lock_config *config)
{
	return config->server->cluster && !key_is_placeable(config->key)
		   ? CLAIM_PLAIN
		   : CLAIM_FULL;
}

static void
set_token(struct claim *claim, const char *token)
{
	memcpy(claim->token, token, sizeof(claim->token));
	key_set_token(claim->keys.nested, token);
}

int
claim_init(struct claim *claim, const struct lock_config *config)
{
	char outer[TOKEN_SIZE];

	*claim =
	    (struct claim){.config = config, .tier = claim_top_tier(config)};
	holder_self(&claim->self);
	if (token_make(claim->token) == -1)
		return -1;
	key_names_init(&claim->keys, config->key, claim->token);
	claim->head_doorbell = mem_strdup(claim->keys.doorbell);
	snprintf(claim->waiter, sizeof(claim->waiter), "%s:%s:%s@%s",
	    config->kind->letter, claim->token, claim->self.pid,
	    claim->self.host);
	record_make(claim->record, config, &claim->self);
	claim->outer = outer_find(config->outer, config->key, outer);
	if (claim->outer != NULL) {
		memcpy(claim->run, claim->token, sizeof(claim->run));
		set_token(claim, outer);
	}
	return 0;
}

void
claim_fini(struct claim *claim)
{
	key_names_fini(&claim->keys);
	free(claim->head_doorbell);
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
claim_remember_token(struct claim *claim, const char *token)
{
	if (claim->former_count == CLAIM_FORMER_MAX)
		memmove(claim->former[0], claim->former[1],
		    --claim->former_count * sizeof(*claim->former));
	memcpy(claim->former[claim->former_count++], token, TOKEN_SIZE);
}

void
claim_adopt_token(struct claim *claim, const char *token)
{
	claim_remember_token(claim, claim->token);
	set_token(claim, token);
}

void
claim_share(struct claim *claim, const struct claim *with)
{
	set_token(claim, with->token);
	memcpy(claim->run, with->run, sizeof(claim->run));
}

void
claim_share_grant(struct claim *claim, const struct claim *with)
{
	memcpy(claim->fence, with->fence, sizeof(claim->fence));
	claim->start = with->start;
	claim->life_ms = with->life_ms;
}

void
claim_forget_outer(struct claim *claim)
{
	claim->outer = NULL;
	set_token(claim, claim->run);
	claim->run[0] = '\0';
	claim->tier = claim_top_tier(claim->config);
}

void
claim_expect_head(struct claim *claim, const char *waiter)
{
	struct waiter head;

	claim->head[0] = '\0';
	if (strlen(waiter) >= sizeof(claim->head) ||
	    !waiter_parse(&head, waiter))
		return;
	memcpy(claim->head, waiter, strlen(waiter) + 1);
	key_set_token(claim->head_doorbell, head.token);
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
