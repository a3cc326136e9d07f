#include "options/opts_parse.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "options/command_line.h"
#include "options/conf_files.h"
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

/* --- users and passwords for servers whose URLs have none -------------- */

/* Once for all servers. A password file has precedence over the variable,
 * unless it is named in a configuration file. */
static void
read_login_file(struct settings *settings, struct opts_login *login,
    enum option_id id)
{
	const char *reason;
	char name[PATH_MAX];

	if (login->password != NULL &&
	    settings->of[id].origin < ORIGIN_ENVIRONMENT)
		login->password_file = NULL;
	if (login->password_file == NULL || login->file.path != NULL)
		return;
	secret_free(login->password);
	login->password = NULL;
	reason = password_file_init(&login->file, login->password_file);
	escape_quote(login->password_file, name, sizeof(name));
	if (reason != NULL)
		settings_fail_at(settings, &settings->of[id].place,
		    "password file %s: %s", name, reason);
	else if (login->file.exposed)
		log_warnx("password file %s: others can read it (mount it "
			  "with mode 0440)",
		    name);
}

static void
fill(struct endpoint *server, struct opts_login *login)
{
	const char *user = login->user != NULL ? login->user : "";
	size_t length = secret_length(user, strlen(user));

	if (server->user == NULL && length > 0)
		server->user = mem_strndup(user, length);
	if (server->password != NULL)
		return;
	if (login->password_file != NULL)
		server->password_file = &login->file;
	else
		server->password = secret_share(login->password);
}

static void
check_one_password(struct settings *settings, const char *password,
    enum option_id text, enum option_id file)
{
	if (password != NULL && settings->of[file].origin == ORIGIN_ENVIRONMENT)
		settings_fail(settings, file, "%s and %s exclude each other",
		    opts_table[text].variable, opts_table[file].variable);
}

/* A URL has precedence. A file is read only if a password is missing. Sentinels
 * have credentials of their own or none: they never get those of the server. */
static void
fill_credentials(struct settings *settings)
{
	struct opts *opts = settings->opts;

	check_one_password(settings, opts->login.password, OPT_PASSWORD,
	    OPT_PASSWORD_FILE);
	check_one_password(settings, opts->sentinel_login.password,
	    OPT_SENTINEL_PASSWORD, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < opts->server_count; i++) {
		struct endpoint *server = &opts->servers[i];

		if (server->password == NULL)
			read_login_file(settings, &opts->login,
			    OPT_PASSWORD_FILE);
		fill(server, &opts->login);
		if (server->master == NULL)
			continue;
		read_login_file(settings, &opts->sentinel_login,
		    OPT_SENTINEL_PASSWORD_FILE);
		for (size_t j = 0; j < server->host_count; j++)
			fill(&server->hosts[j], &opts->sentinel_login);
	}
}

static void
forget_credentials(struct opts *opts)
{
	secret_free(opts->login.password);
	secret_free(opts->sentinel_login.password);
	opts->login.password = opts->sentinel_login.password = NULL;
}

/* ----------------------------------------------------------------------- */

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
			fill_credentials(&settings);
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
	forget_credentials(opts);
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
