/* URLs: what is accepted is in range, its label is a URL for the same server
 * without credentials, and wiping leaves no byte of user and password. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
check_label(const struct endpoint *endpoint)
{
	struct endpoint again;

	require(url_parse(endpoint->label, &again) == NULL);
	require(again.user == NULL && again.password == NULL);
	require(again.transport == endpoint->transport);
	require(strcmp(again.host, endpoint->host) == 0);
	require(again.port == endpoint->port && again.db == endpoint->db);
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
		require(endpoint.db >= 0 && *endpoint.host != '\0');
		require(endpoint.transport == URL_UNIX
			    ? endpoint.port == 0
			    : endpoint.port > 0 && endpoint.port < 65536);
		check_label(&endpoint);
		endpoint_fini(&endpoint);
	} else {
		require(endpoint.host == NULL && endpoint.password == NULL);
	}
	check_wiped(text);
	free(text);
	return 0;
}
