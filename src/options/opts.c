#include "options/opts.h"

#include <stdlib.h>
#include <string.h>

void
opts_fini(struct opts *opts)
{
	for (size_t i = 0; i < opts->server_count; i++)
		endpoint_fini(&opts->servers[i]);
	password_file_fini(&opts->login.file);
	password_file_fini(&opts->sentinel_login.file);
	for (size_t i = 0; i < opts->key_count; i++)
		free(opts->keys[i].key);
	free(opts->names);
	free(opts->metrics_folder);
	free(opts->globs);
	free(opts->file_texts);
	free(opts->shown);
	if (opts->shell_command != NULL && opts->command != NULL) {
		free(opts->command[2]);
		free(opts->command);
	}
	memset(opts, 0, sizeof(*opts));
}
