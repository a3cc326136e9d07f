/* URLs: what is accepted is in range, its label is a URL for the same server
 * without credentials, and wiping leaves no byte of user and password. */
#include "fuzz.h"
#include "redis/url.h"

static bool
same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void
check_hosts(const struct endpoint *endpoint)
{
	require(endpoint->host == NULL && endpoint->port == 0);
	require(endpoint->transport == URL_TCP);
	require(endpoint->cluster
		    ? endpoint->master == NULL && endpoint->db == 0
		    : *endpoint->master != '\0');
	require(endpoint->host_count > 0);
	for (size_t i = 0; i < endpoint->host_count; i++) {
		const struct endpoint *one = &endpoint->hosts[i];
		require(*one->host != '\0' && one->tls == endpoint->tls);
		require(one->port > 0 && one->port < 65536);
	}
}

static void
check_server(const struct endpoint *endpoint)
{
	require(*endpoint->host != '\0' && endpoint->host_count == 0);
	require(endpoint->transport == URL_UNIX
		    ? endpoint->port == 0 && !endpoint->tls
		    : endpoint->port > 0 && endpoint->port < 65536);
}

static void
check_label(const struct endpoint *endpoint)
{
	struct endpoint again;

	require(url_parse(endpoint->label, &again) == NULL);
	require(again.user == NULL && again.password == NULL);
	require(again.transport == endpoint->transport);
	require(same(again.host, endpoint->host));
	require(same(again.master, endpoint->master));
	require(again.host_count == endpoint->host_count);
	require(again.port == endpoint->port && again.db == endpoint->db);
	require(again.tls == endpoint->tls);
	require(again.cluster == endpoint->cluster);
	require(strcmp(again.label, endpoint->label) == 0);
	endpoint_fini(&again);
}

/* All up to the '@' is 'x' once the scheme is skipped. */
static void
check_wiped(char *text)
{
	bool any = url_wipe(text);
	char *at = strrchr(text, '@');
	struct endpoint endpoint;

	if (!any || url_parse(text, &endpoint) != NULL)
		return;
	require(at != NULL && at[-1] == 'x');
	require(endpoint.password == NULL);
	require(strspn(endpoint.user, "x") == strlen(endpoint.user));
	endpoint_fini(&endpoint);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct endpoint endpoint;

	if (url_parse(text, &endpoint) == NULL) {
		require(endpoint.db >= 0);
		if (endpoint.master != NULL || endpoint.cluster)
			check_hosts(&endpoint);
		else
			check_server(&endpoint);
		check_label(&endpoint);
		endpoint_fini(&endpoint);
	} else {
		require(endpoint.host == NULL && endpoint.password == NULL);
	}
	check_wiped(text);
	free(text);
	return 0;
}
