#include "options/credentials.h"

#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"

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
		settings_fail(settings, id, "password file %s: %s", name,
		    reason);
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
void
credentials_fill(struct settings *settings)
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

void
credentials_forget(struct opts *opts)
{
	secret_free(opts->login.password);
	secret_free(opts->sentinel_login.password);
	opts->login.password = opts->sentinel_login.password = NULL;
}
