/* `make static`: OpenSSL is a part of the program. It was configured for the
 * system that it was built on, and runs on others. So it reads no openssl.cnf,
 * which could require modules for other libraries, and the certificates of the
 * system are looked for where the distributions keep them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis/tls/tls.h"
#include "redis/tls/tls_context.h"
#include "redis/tls/tls_memory.h"

const int tls_library_level = 2;

uint64_t
tls_library_prepare(void)
{
	tls_memory_provide();
	return OPENSSL_INIT_NO_LOAD_CONFIG;
}

/* --- the certificates of the system ----------------------------------- */

static const char *const folders[] = {
    "/etc/ssl/certs",	  /* Debian, Ubuntu, Alpine, Arch, SUSE, Gentoo */
    "/etc/pki/tls/certs", /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/directory-hash", /* newer ones */
    NULL,
};
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",	  /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* newer ones */
    "/etc/ssl/ca-bundle.pem",				 /* SUSE */
    "/etc/ssl/cert.pem",				 /* Alpine */
    NULL,
};

static bool
has_hashes(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry = NULL;

	if (dir == NULL)
		return false;
	/* Such as 5ed36f99.0. */
	while ((entry = readdir(dir)) != NULL)
		if (strspn(entry->d_name, "0123456789abcdef") == 8 &&
		    entry->d_name[8] == '.')
			break;
	closedir(dir);
	return entry != NULL;
}

static bool
is_readable(const char *file)
{
	return access(file, R_OK) == 0;
}

static const char *
find_place(const char *const places[], bool (*is_there)(const char *place))
{
	while (*places != NULL && !is_there(*places))
		places++;
	return *places;
}

static void
list(const char *const places[], char *text, size_t size)
{
	size_t length = strlen(text);

	for (; *places != NULL; places++) {
		snprintf(text + length, size - length, " %s", *places);
		length = strlen(text);
	}
}

/* The variables are those of SSL_CTX_set_default_verify_paths(3), and like
 * there a place that they name may be empty. */
static const char *
find_file(void)
{
	const char *file = secure_getenv("SSL_CERT_FILE");

	return file != NULL ? file : find_place(bundles, is_readable);
}

int
tls_library_trust_folder(const struct library *lib, SSL_CTX *ctx, char *error)
{
	const char *folder = secure_getenv("SSL_CERT_DIR");

	if (folder == NULL)
		folder = find_place(folders, has_hashes);
	if (folder != NULL)
		lib->SSL_CTX_load_verify_locations(ctx, NULL, folder);
	if (folder != NULL || find_file() != NULL)
		return 0;
	snprintf(error, TLS_ERROR_MAX,
	    "no CA certificates found (name a file by --tls-ca) in:");
	list(folders, error, TLS_ERROR_MAX);
	list(bundles, error, TLS_ERROR_MAX);
	return 1;
}

int
tls_library_trust_file(const struct library *lib, X509_STORE *store)
{
	const char *file = find_file();

	(void)lib;
	return file != NULL && X509_STORE_load_locations(store, file, NULL) == 1
		   ? 0
		   : -1;
}
