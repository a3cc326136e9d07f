#include "base/template.h"

#include <string.h>

#include "tap.h"

/* The value of a word stands in it, behind its first letter; of "n" it is one
 * that is not written as 1. */
static const char *
value_of(void *arg, const char *word, bool *many)
{
	(void)arg;
	if (*word == 'n')
		*many = false;
	return word + 1;
}

static const struct {
	const char *template, *text;
} cases[] = {
    {"", ""},
    {"no gap", "no gap"},
    {"{va} and {vb}", "a and b"},
    {"{v1} <is|are> there", "1 is there"},
    {"{v2} <is|are> there", "2 are there"},
    {"{nx} <is|are> there", "x is there"},
    {"{v2} permit<|s>", "2 permits"},
    {"{v1} permit<|s>", "1 permit"},
    {"a[ {vb}][ {v}][ {vd}]", "a b d"},
    {"[{v}: ]{vb}", "b"},
    {"+config|get, {va} > b|c", "+config|get, a > b|c"},
    {"{va|b} <one|many> c|d", "a|b many c|d"},
};

int
main(void)
{
	char text[64], little[4];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		template_fill(cases[i].template, value_of, NULL, text,
		    sizeof(text));
		is_text(text, cases[i].text, cases[i].template);
	}
	template_fill("{vabc} {vd}", value_of, NULL, little, sizeof(little));
	is_text(little, "abc", "what does not fit is cut off");
	return tap_done();
}
