#include "options/opts_parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "options/command_line.h"
#include "options/conf_files.h"
#include "options/credentials.h"
#include "options/environment.h"
#include "options/opts_check.h"
#include "options/settings.h"
#include "options/settings_text.h"

/* What nobody has set. --cron is about runs: to look at locks takes no more
 * patience if a file has it. */
static void
set_defaults(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	bool cron = opts->cron && (opts->action == OPTS_RUN ||
				      opts->action == OPTS_SHOW_CONFIG);

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		bool by_cron = cron && *row->cron != '\0';
		const char *text = by_cron ? row->cron : row->preset;

		if (settings->of[id].origin == ORIGIN_DEFAULT && *text != '\0')
			settings_set(settings, id,
			    &(struct setting){.text = text,
				.origin =
				    by_cron ? ORIGIN_CRON : ORIGIN_DEFAULT});
	}
	settings->opts->servers[0].is_default =
	    settings->of[OPT_REDIS].origin == ORIGIN_DEFAULT &&
	    settings->of[OPT_REDIS_URL].origin == ORIGIN_DEFAULT;
}

int
opts_parse(struct opts *opts, int argc, char **argv)
{
	struct settings settings = {.opts = opts};
	struct conf_files files;
	char **rest;

	*opts = (struct opts){
	    .wait_ms = OPTS_WAIT_FOREVER,
	    .lock = {.max_waiters = CONFIG_ANY_WAITERS,
		.expect_ms = CONFIG_EXPECT_UNSTATED,
		.label = ""},
	    .prefix = "",
	    .metrics = "",
	    .globs = mem_alloc(((size_t)argc + 1) * sizeof(*opts->globs)),
	};
	rest = command_line_read(&settings, argc, argv);
	if (opts->action == OPTS_RUN)
		log_set_consequence(OPTS_NOT_STARTED);
	environment_read(&settings);
	conf_files_apply(&files, &settings);
	environment_read_one(&settings, OPT_REDIS_URL);
	set_defaults(&settings);
	if (!settings_are_final(&settings)) {
		opts_check(&settings, rest);
		if (settings.status == 0 && opts->action == OPTS_SHOW_CONFIG)
			opts->shown = settings_text(&settings);
		else if (settings.status == 0)
			credentials_fill(&settings);
		/* What is no mistake, but may be meant otherwise. */
		if (settings.status == 0 && opts->verbose) {
			environment_warn_unknown();
			if (opts->action == OPTS_RUN &&
			    opts->servers[0].is_default)
				log_warnx("%s (put \"redis = URL\" "
					  "into " CONF_OF_THE_HOST ")",
				    OPTS_NO_SERVER);
		}
	}
	credentials_forget(opts);
	conf_files_close(&files);
	if (settings.status != 0)
		opts_fini(opts);
	return settings.status;
}

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
	free(opts->cut_label);
	free(opts->metrics_folder);
	free(opts->globs);
	free(opts->file_texts);
	free(opts->shown);
	memset(opts, 0, sizeof(*opts));
}
