/* Where servers are, as Sentinel and Cluster say, byte for byte: hosts and
 * ports in range, or no answer. */
#include "fuzz.h"
#include "redis/value.h"
#include "redis/ways/cluster.h"
#include "redis/ways/sentinel.h"

static void
check_node(const struct url_address *node)
{
	require(node->port > 0 && node->port < 65536);
	require(memchr(node->host, '\0', sizeof(node->host)) != NULL);
	require(*node->host != '\0');
}

static void
check_address(const struct value *value)
{
	struct url_address address = {.port = -1};

	if (!sentinel_read_address(&address, value)) {
		require(address.port == -1 && *address.host == '\0');
		return;
	}
	require(address.port > 0 && address.port < 65536);
	require(memchr(address.host, '\0', sizeof(address.host)) != NULL);
}

static void
check_primaries(const struct value *value)
{
	struct url_address *primaries = NULL;
	int count = cluster_primaries(value, "h", &primaries);

	for (int i = 0; i < count; i++)
		check_node(&primaries[i]);
	if (count >= 0)
		free(primaries);
}

/* Each node that is learnt is picked in turn, when none proves right. */
static void
check_learn(const struct value *value)
{
	struct endpoint url;
	struct cluster cluster;

	require(url_parse("redis-cluster://h:1,i:2", &url) == NULL);
	require(cluster_init(&cluster, &url, 866) == 0);
	cluster_pick(&cluster);
	cluster_learn(&cluster, value);
	for (size_t i = 0; i <= cluster.count; i++) {
		check_node(cluster_pick(&cluster));
		cluster_doubt(&cluster);
	}
	cluster_fini(&cluster);
	endpoint_fini(&url);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct value_limits limits = {1 << 20, CLUSTER_SLOTS};
	struct value_reader *reader = value_reader_new();
	struct value *value;

	require(reader != NULL);
	require(value_reader_feed(reader, (const char *)data, size) == 0);
	while (value_reader_next(reader, limits, &value) == 1) {
		check_address(value);
		check_primaries(value);
		check_learn(value);
		value_free(value);
	}
	value_reader_free(reader);
	return 0;
}
