/* Redirects and slots: what a node says leads to a host and a port in range, or
 * nowhere; helper keys lie in their key's slot where that is claimed. */
#include "fuzz.h"
#include "lock/claim.h"
#include "redis/ways/cluster.h"

static void
check_redirect(const char *text)
{
	struct url_address to;

	if (cluster_redirect(text, &to) == CLUSTER_NONE)
		return;
	require(to.port > 0 && to.port < 65536);
	require(memchr(to.host, '\0', sizeof(to.host)) != NULL);
	require(strstr(text, to.host) != NULL);
}

static void
check_slot(const char *key)
{
	char *helper = key_helper(key, 'q');
	int slot = cluster_slot(key);

	require(slot >= 0 && slot < CLUSTER_SLOTS);
	require(!key_is_placeable(key) || cluster_slot(helper) == slot);
	free(helper);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	require(text != NULL);
	check_redirect(text);
	check_slot(text);
	free(text);
	return 0;
}
