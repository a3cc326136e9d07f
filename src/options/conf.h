/* The syntax of a configuration file, as in CONFIGURATION FILES of rlockrun(1):
 * one item a line, read one after the other. What names and values mean is for
 * the caller. Pure: nothing is opened or allocated here. */
#ifndef CONF_H
#define CONF_H

#include <stddef.h>

/* What a line belongs to; a later one has precedence. */
enum conf_section { CONF_GENERAL, CONF_PROFILE, CONF_LOCK };

enum conf_item {
	CONF_END,
	CONF_HEADING, /* a section begins */
	CONF_VALUE,
	CONF_MISTAKE,
};

struct conf {
	char *rest, *end;
	int line; /* of the item, from 1 */
	enum conf_section section;
	const char *section_name; /* of the profile, or the glob; or empty */
	const char *name, *value; /* of CONF_VALUE */
	const char *mistake;	  /* quotes nothing of the text */
};

/* The text, which is changed, must outlive all items. text[length] can be
 * written. */
void conf_begin(struct conf *conf, char *text, size_t length);

/* After CONF_MISTAKE only the line is known. */
enum conf_item conf_next(struct conf *conf);

/* How a value has to be written to be read as it is. */
enum conf_form {
	CONF_PLAIN,
	CONF_QUOTED,
	CONF_IMPOSSIBLE,
};

enum conf_form conf_form_of(const char *value);

#endif
