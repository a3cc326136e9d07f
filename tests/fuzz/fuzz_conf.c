/* The syntax of configuration files: any bytes. */
#include "fuzz.h"
#include "options/conf.h"

static void
check(const struct conf *conf, enum conf_item item, int line)
{
	if (conf->place.line <= line)
		abort();
	if (item == CONF_HEADING && (conf->origin == ORIGIN_GENERAL ||
					*conf->place.section_name == '\0'))
		abort();
	if (item == CONF_VALUE &&
	    (*conf->name == '\0' || strchr(conf->name, '=') != NULL ||
		strpbrk(conf->name, "\r\n") != NULL ||
		strpbrk(conf->value, "\r\n") != NULL))
		abort();
	if (item == CONF_MISTAKE && conf->mistake == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct conf conf = {.text = text, .length = size};
	enum conf_item item;
	int line = 0;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	conf_begin(&conf);
	do {
		item = conf_next(&conf);
		if (item != CONF_END)
			check(&conf, item, line);
		line = conf.place.line;
	} while (item != CONF_END && item != CONF_MISTAKE);
	free(text);
	return 0;
}
