#include "options/credentials.h"

#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"

static void
forget_password(char **password)
{
	secret_free(*password);
	*password = NULL;
}

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
	forget_password(&login->password);
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
set_password(struct endpoint *server, struct opts_login *login)
{
	if (login->password_file != NULL)
		server->password_file = &login->file;
	else
		server->password = secret_share(login->password);
}

static char *
copy_user(const struct opts_login *login)
{
	const char *text = login->user != NULL ? login->user : "";
	size_t length = secret_length(text, strlen(text));

	return length == 0 ? NULL : mem_strndup(text, length);
}

/* The URL has precedence. The file is read only if a password is missing. */
static void
fill_server(struct settings *settings, struct endpoint *server)
{
	struct opts_login *login = &settings->opts->login;

	if (server->user == NULL)
		server->user = copy_user(login);
	if (server->password != NULL)
		return;
	read_login_file(settings, login, OPT_PASSWORD_FILE);
	set_password(server, login);
}

/* Sentinels have credentials of their own or none: they never get those of the
 * server. */
static void
fill_sentinels(struct settings *settings, const struct endpoint *server)
{
	struct opts_login *login = &settings->opts->sentinel_login;

	if (server->master == NULL)
		return;
	read_login_file(settings, login, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < server->host_count; i++) {
		server->hosts[i].user = copy_user(login);
		set_password(&server->hosts[i], login);
	}
}

static void
check_one_password(struct settings *settings, const char *password,
    enum option_id text, enum option_id file)
{
	if (password != NULL && settings->of[file].origin == ORIGIN_ENVIRONMENT)
		settings_fail(settings, file, "%s and %s exclude each other",
		    opts_table[text].variable, opts_table[file].variable);
}

void
credentials_fill(struct settings *settings)
{
	struct opts *opts = settings->opts;

	check_one_password(settings, opts->login.password, OPT_PASSWORD,
	    OPT_PASSWORD_FILE);
	check_one_password(settings, opts->sentinel_login.password,
	    OPT_SENTINEL_PASSWORD, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < opts->server_count; i++) {
		fill_server(settings, &opts->servers[i]);
		fill_sentinels(settings, &opts->servers[i]);
	}
}

void
credentials_forget(struct opts *opts)
{
	forget_password(&opts->login.password);
	forget_password(&opts->sentinel_login.password);
}
