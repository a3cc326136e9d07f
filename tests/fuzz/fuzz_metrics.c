/* The metrics of a lock: any bytes where its file was, and as its key. What is
 * read must be written such that it is read again. */
#include "fuzz.h"
#include "sink/metrics_text.h"

static void
check_name(const char *key)
{
	char name[METRICS_NAME_SIZE];

	metrics_text_name(key, name);
	if (strchr(name, '/') != NULL || *name == '.' ||
	    strlen(name) >= sizeof(name))
		abort();
}

static void
check_label(const char *label)
{
	if (strchr(label, '\n') != NULL)
		abort();
	for (const char *c = label; *c != '\0'; c++) {
		if (*c == '"' || (*c == '\\' && strchr("n\"\\", c[1]) == NULL))
			abort();
		c += *c == '\\';
	}
}

static void
write_and_read(const struct metrics *metrics, const char *label)
{
	size_t room = metrics_text_room(label);
	char *text = malloc(room);
	struct metrics again;

	if (text == NULL ||
	    metrics_text_write(metrics, label, text, room) >= room - 1)
		abort();
	metrics_init(&again);
	if (metrics_text_read(&again, label, text) ||
	    memcmp(metrics->values, again.values, sizeof(again.values)) != 0 ||
	    metrics->run_count != again.run_count)
		abort();
	free(text);
}

/* The first line is the key, the rest is the file. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text;
	struct metrics metrics;
	const char *key;
	char *label;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	key = strsep(&rest, "\n");
	label = metrics_text_label(key);
	check_name(key);
	check_label(label);
	metrics_init(&metrics);
	if (rest != NULL)
		metrics_text_read(&metrics, label, rest);
	write_and_read(&metrics, label);
	free(label);
	free(text);
	return 0;
}
