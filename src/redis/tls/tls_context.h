/* OpenSSL as the tls files use it. No type of OpenSSL leaves these.
 *
 * Its functions are loaded from a shared library when the first context is made
 * (tls_loaded.c), or linked (tls_linked.c). It is that of this system
 * (tls_system.c), or a part of the program that goes to others (`make static`,
 * tls_static.c). */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "redis/reread.h"

/* With the types of the headers. libssl's handle finds libcrypto's names, too.
 */
#define FUNCTIONS(DO)                          \
	DO(OpenSSL_version)                    \
	DO(OpenSSL_version_num)                \
	DO(OPENSSL_init_crypto)                \
	DO(TLS_client_method)                  \
	DO(SSL_CTX_new)                        \
	DO(SSL_CTX_free)                       \
	DO(SSL_CTX_ctrl)                       \
	DO(SSL_CTX_set_security_level)         \
	DO(SSL_CTX_set_verify)                 \
	DO(SSL_CTX_set_cert_verify_callback)   \
	DO(SSL_CTX_set_default_passwd_cb)      \
	DO(SSL_CTX_load_verify_locations)      \
	DO(SSL_CTX_set_default_verify_dir)     \
	DO(SSL_CTX_use_certificate_chain_file) \
	DO(SSL_CTX_use_PrivateKey_file)        \
	DO(SSL_CTX_check_private_key)          \
	DO(SSL_new)                            \
	DO(SSL_free)                           \
	DO(SSL_ctrl)                           \
	DO(SSL_get0_param)                     \
	DO(SSL_set_bio)                        \
	DO(SSL_set_connect_state)              \
	DO(SSL_do_handshake)                   \
	DO(SSL_read)                           \
	DO(SSL_write)                          \
	DO(SSL_pending)                        \
	DO(SSL_shutdown)                       \
	DO(SSL_get_error)                      \
	DO(SSL_get_verify_result)              \
	DO(SSL_get_version)                    \
	DO(SSL_get_current_cipher)             \
	DO(SSL_CIPHER_get_name)                \
	DO(SSL_get_peer_cert_chain)            \
	DO(SSL_get_certificate)                \
	DO(X509_VERIFY_PARAM_set1_host)        \
	DO(X509_VERIFY_PARAM_set1_ip_asc)      \
	DO(X509_VERIFY_PARAM_set_hostflags)    \
	DO(X509_verify_cert_error_string)      \
	DO(X509_VERIFY_PARAM_new)              \
	DO(X509_VERIFY_PARAM_free)             \
	DO(X509_VERIFY_PARAM_set1)             \
	DO(X509_STORE_set_default_paths)       \
	DO(X509_STORE_CTX_get_error)           \
	DO(X509_STORE_CTX_get0_store)          \
	DO(X509_STORE_CTX_get0_param)          \
	DO(X509_STORE_CTX_set0_param)          \
	DO(X509_STORE_CTX_get0_untrusted)      \
	DO(X509_STORE_CTX_cleanup)             \
	DO(X509_STORE_CTX_init)                \
	DO(X509_STORE_CTX_get0_cert)           \
	DO(X509_verify_cert)                   \
	DO(X509_get_ext_d2i)                   \
	DO(X509_get0_notAfter)                 \
	DO(ASN1_TIME_diff)                     \
	DO(X509_get_subject_name)              \
	DO(X509_NAME_get_text_by_NID)          \
	DO(GENERAL_NAMES_free)                 \
	DO(OPENSSL_sk_num)                     \
	DO(OPENSSL_sk_value)                   \
	DO(ASN1_STRING_get0_data)              \
	DO(ASN1_STRING_length)                 \
	DO(BIO_s_mem)                          \
	DO(BIO_new)                            \
	DO(BIO_free)                           \
	DO(BIO_read)                           \
	DO(BIO_write)                          \
	DO(BIO_ctrl)                           \
	DO(BIO_ctrl_pending)                   \
	DO(ERR_clear_error)                    \
	DO(ERR_peek_last_error)                \
	DO(ERR_reason_error_string)

/* clang-format off */
#define MEMBER(name) __typeof__(name) *name; /* NOLINT */
struct library {
	FUNCTIONS(MEMBER)
};
/* clang-format on */

/* 0; -1 when OpenSSL cannot be used. An error, here and below, is of
 * TLS_ERROR_MAX bytes. */
int tls_library_fill(struct library *lib, char *error);

/* To be called before OpenSSL allocates anything. Returns options for
 * OPENSSL_init_crypto(3), beside others. */
uint64_t tls_library_prepare(void);

/* For SSL_CTX_set_security_level(3); -1: as openssl.cnf has it. */
extern const int tls_library_level;

/* The certificate authorities of the system: those in its folder, where OpenSSL
 * looks for one when it needs it. 0, or 1 if there are none, in no file either.
 */
int tls_library_trust_folder(const struct library *lib, SSL_CTX *ctx,
    char *error);

/* Adds those in its file. 0, or -1 if there are none. */
int tls_library_trust_file(const struct library *lib, X509_STORE *store);

enum tls_file { TLS_CA, TLS_CERT, TLS_KEY, TLS_FILES };

#define TLS_NAMES_MAX 256

struct tls_context {
	struct library lib;
	/* NULL: nothing is loaded. Sessions keep the one that they began with.
	 */
	SSL_CTX *ctx;
	bool beyond_tls12; /* the system requires a newer version */
	void (*die)(int status, const char *why);
	struct loop_timer timer;
	const char *paths[TLS_FILES]; /* NULL: not given */
	struct stat files[TLS_FILES]; /* as they were when ctx was made */
	struct reread reread;
	/* The host names and addresses in the subjectAltName of the last
	 * certificate that was for another host, for a message: valid until
	 * the next handshake continues. */
	char names[TLS_NAMES_MAX];
};

/* Before a session is made, which may be faster than the loop. */
void tls_context_load(struct tls_context *context);

/* Whether verification failed because the certificate is for another host. */
bool tls_names_mismatch(long result);

#endif
