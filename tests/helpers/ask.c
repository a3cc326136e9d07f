/* Asks servers for a test, over one connection to each: a redis-cli for each
 * look would cost the start of a process.
 *
 *     ask FOLDER OWNER
 *
 * Makes FOLDER with the FIFOs `turn`, `question` and `reply`, and goes on in
 * the background, its id in FOLDER/pid, for as long as process OWNER lives.
 * Whoever asks takes the byte out of `turn`, so that no two questions mix,
 * writes
 *
 *     COUNT NUL SOCKET NUL COUNT times: WORD NUL
 *
 * to `question`, reads from `reply` up to a NUL, and puts the byte back. The
 * reply is 0, or 1 if the server cannot be reached, and behind it what
 * redis-cli prints, without the last end of a line, and without NULs. `ask` of
 * look.bash does all that.
 *
 * A connection stays until the server closes it; the next question to this
 * server opens a new one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	CONNECTIONS = 8,
	LOOK_S = 1,
	PATH_LENGTH = 200,
	FIFO_MODE = 0666,
	FOLDER_MODE = 0777
};

struct server {
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	FILE *stream; /* NULL: there is no connection */
};

static pid_t owner;

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "ask: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void
end_without_owner(int number)
{
	(void)number;
	if (kill(owner, 0) == -1 && errno == ESRCH)
		_exit(0);
}

/* For both directions, so that opening never waits and no end of file comes. */
static int
make_fifo(const char *folder, const char *name)
{
	char path[PATH_LENGTH];
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (mkfifo(path, FIFO_MODE) == -1)
		fail(path);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file == -1)
		fail(path);
	return file;
}

static void
connect_to(struct server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, server->path, sizeof(address.sun_path));
	if (connect(file, (struct sockaddr *)&address, sizeof(address)) == -1)
		close(file);
	else
		server->stream = fdopen(file, "r");
}

static void
disconnect(struct server *server)
{
	if (server->stream != NULL)
		fclose(server->stream);
	server->stream = NULL;
}

/* Connected, unless it cannot be reached. */
static struct server *
find_server(const char *path)
{
	static struct server servers[CONNECTIONS];
	static size_t next;
	struct server *server = NULL;
	char byte;

	for (size_t i = 0; i < CONNECTIONS && server == NULL; i++) {
		if (strcmp(servers[i].path, path) == 0)
			server = &servers[i];
	}
	if (server == NULL) {
		server = &servers[next++ % CONNECTIONS];
		disconnect(server);
		snprintf(server->path, sizeof(server->path), "%s", path);
	}
	if (server->stream != NULL && recv(fileno(server->stream), &byte, 1,
					  MSG_PEEK | MSG_DONTWAIT) != -1)
		disconnect(server); /* an end of file */
	if (server->stream == NULL)
		connect_to(server);
	return server;
}

static void
print_bytes(FILE *to, FILE *from, long count)
{
	for (; count > 0; count--) {
		int byte = getc(from);

		if (byte > 0)
			putc(byte, to);
	}
}

/* As `redis-cli --raw` prints it. False when the server has gone. */
static bool
print_reply(FILE *to, FILE *from)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length = getline(&line, &size, from);
	long count;

	if (length < 3) {
		free(line);
		return false;
	}
	count = strtol(line + 1, NULL, 10);
	switch (line[0]) {
	case '$':
		print_bytes(to, from, count);
		if (count >= 0) {
			getc(from);
			getc(from);
		}
		break;
	case '*':
		for (long i = 0; i < count && print_reply(to, from); i++)
			fputs(i + 1 < count ? "\n" : "", to);
		break;
	default:
		fprintf(to, "%.*s%s", (int)length - 3, line + 1,
		    line[0] == '-' ? "\n" : "");
	}
	free(line);
	return !feof(from);
}

/* The next word of the question; the caller frees it. */
static char *
read_word(FILE *question)
{
	char *word = NULL;
	size_t size = 0;

	if (getdelim(&word, &size, '\0', question) == -1)
		fail("question");
	return word;
}

/* The words go through a buffer, so that a server that has closed the
 * connection leaves the question whole. */
static void
send_question(FILE *question, long words, FILE *stream)
{
	char *text = NULL;
	size_t length = 0;
	FILE *buffer = open_memstream(&text, &length);

	fprintf(buffer, "*%ld\r\n", words);
	for (; words > 0; words--) {
		char *word = read_word(question);

		fprintf(buffer, "$%zu\r\n%s\r\n", strlen(word), word);
		free(word);
	}
	fclose(buffer);
	for (size_t sent = 0; stream != NULL && sent < length;) {
		ssize_t count =
		    write(fileno(stream), text + sent, length - sent);

		if (count == -1)
			break; /* no reply will come */
		sent += (size_t)count;
	}
	free(text);
}

static void
answer(FILE *question, FILE *reply)
{
	char *number = read_word(question);
	char *path = read_word(question);
	struct server *server = find_server(path);
	char *text = NULL;
	size_t length = 0;
	FILE *buffer = open_memstream(&text, &length);
	bool replied;

	send_question(question, strtol(number, NULL, 10), server->stream);
	replied = server->stream != NULL && print_reply(buffer, server->stream);
	fclose(buffer);
	fprintf(reply, "%d%s", replied ? 0 : 1,
	    replied ? text : "the server cannot be reached");
	putc('\0', reply);
	fflush(reply);
	if (!replied)
		disconnect(server);
	free(text);
	free(path);
	free(number);
}

/* The parent ends when all can be used. What bats waits for is closed. */
static void
go_on_in_background(const char *folder)
{
	char path[PATH_LENGTH];
	pid_t pid = fork();
	FILE *file;

	if (pid == -1)
		fail("fork");
	if (pid == 0) {
		struct itimerval each = {{LOOK_S, 0}, {LOOK_S, 0}};
		struct sigaction look = {.sa_handler = end_without_owner,
		    .sa_flags = SA_RESTART};

		sigaction(SIGALRM, &look, NULL);
		setitimer(ITIMER_REAL, &each, NULL);
		signal(SIGPIPE, SIG_IGN);
		if (chdir("/") == -1)
			fail("/");
		close(STDOUT_FILENO);
		close(STDIN_FILENO);
		return;
	}
	snprintf(path, sizeof(path), "%s/pid", folder);
	file = fopen(path, "w");
	if (file == NULL)
		fail(path);
	fprintf(file, "%d\n", (int)pid);
	fclose(file);
	_exit(0);
}

int
main(int argc, char **argv)
{
	FILE *question;
	FILE *reply;
	int turn;

	if (argc != 3 || (owner = (pid_t)strtol(argv[2], NULL, 10)) <= 0) {
		fputs("usage: ask FOLDER OWNER\n", stderr);
		return EXIT_FAILURE;
	}
	if (mkdir(argv[1], FOLDER_MODE) == -1)
		fail(argv[1]);
	turn = make_fifo(argv[1], "turn");
	question = fdopen(make_fifo(argv[1], "question"), "r");
	reply = fdopen(make_fifo(argv[1], "reply"), "w");
	if (question == NULL || reply == NULL || write(turn, ".", 1) != 1)
		fail(argv[1]);
	go_on_in_background(argv[1]);
	for (;;)
		answer(question, reply);
}
