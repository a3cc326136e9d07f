#include "calls.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/script.h"
#include "lock/script.h"
#include "node.h"
#include "table.h"
#include "world.h"

#define PREFIX "{a}:rlk"
/* A token is written as #1 to #f. */
#define TOKEN "00000000-0000-4000-8000-00000000000"

enum {
	KEYS = 32,
	ITEMS = 64,
	LONG = 30, /* the same character, so often */
};

/* Each script with the keys that it gets if none are named, as rlockrun does.
 */
static const struct {
	const char *name, *keys;
	const struct script *script;
} scripts[] = {
    {"acquire", "a :i :r :q :l :m", &script_acquire_exclusive},
    {"acquire_counted", "a :i :r :q :l :m", &script_acquire_counted},
    {"renew", "a", &script_renew_exclusive},
    {"renew_counted", "a", &script_renew_counted},
    {"release", "a :i :r :q :l :n", &script_release_exclusive},
    {"release_counted", "a :i :r :q :l :n", &script_release_counted},
    {"join", "a :n :i", &script_join_exclusive},
    {"join_counted", "a :n :i", &script_join_counted},
    {"plain_acquire", "a", &script_plain_acquire_exclusive},
    {"plain_acquire_counted", "a", &script_plain_acquire_counted},
    {"plain_release", "a", &script_plain_release_exclusive},
    {"plain_release_counted", "a", &script_plain_release_counted},
    {"ring", ":q :l :m :m2 :m3", &script_ring},
    {"order", ":i", &script_order},
    {"heal", ":i :r :q :l :m :n", &script_heal},
    {"look", "a :i :q :l :r", &script_look},
    {"force", "a :i :q :l", &script_force},
    {"pause", ":i", &script_pause},
};

/* --- words -----------------------------------------------------------------
 */

/* @SECONDS or, in us, @@SECONDS from now; false without a number. */
static bool
put_time(char **out, const char **at)
{
	const char *digits = *at + 1 + ((*at)[1] == '@');
	int64_t unit = digits == *at + 1 ? WORLD_MS : 1;
	char *end;
	double seconds = strtod(digits, &end);

	if (**at != '@' || strchr("+-0", *digits) == NULL || end == digits)
		return false;
	*out += sprintf(*out, "%" PRId64,
	    (node_clock_us(node_find("s1")) + (int64_t)round(seconds * 1e6)) /
		unit);
	*at = end;
	return true;
}

char *
call_expand(const char *word)
{
	char *out = world_alloc(40 * strlen(word) + 16), *end = out;

	while (*word != '\0') {
		if (put_time(&end, &word))
			continue;
		if (*word == '#' && isxdigit((unsigned char)word[1]))
			end = stpcpy(end, TOKEN), word++;
		*end++ = *word++;
	}
	return out;
}

/* --- replies as text ------------------------------------------------------ */

/* How far a number of that many digits lies from the server's time, in seconds;
 * false if it is no time. */
static bool
read_time(const char *digits, size_t length, double *seconds)
{
	double unit = length == 13 ? 1e3 : 1e6;

	if (length != 13 && length != 16)
		return false;
	*seconds = ((double)strtoll(digits, NULL, 10) -
		       (double)node_clock_us(node_find("s1")) / (1e6 / unit)) /
		   unit;
	return *seconds > -1e7 && *seconds < 1e7;
}

/* With times and tokens as in a table. */
static char *
put_text(char *out, const char *text, size_t length)
{
	const char *quote = length == 0 || memchr(text, ' ', length) ? "'" : "";
	const char *const end = text + length;

	out = stpcpy(out, quote);
	while (text < end) {
		size_t digits = strspn(text, "0123456789");
		size_t same = strspn(text, (char[]){*text, '\0'});
		double seconds;

		if (same >= LONG) {
			out += sprintf(out, "<%zu %c>", same, *text);
			text += same;
		} else if (strncmp(text, TOKEN, strlen(TOKEN)) == 0) {
			text += strlen(TOKEN);
			out += sprintf(out, "#%c", *text++);
		} else if (digits > 0 && read_time(text, digits, &seconds)) {
			out += sprintf(out, "%s%.6f", digits == 13 ? "@" : "@@",
			    seconds);
			while (out[-1] == '0')
				out--;
			out -= out[-1] == '.';
			text += digits;
		} else {
			digits = digits > 0 ? digits : 1;
			memcpy(out, text, digits);
			out += digits;
			text += digits;
		}
	}
	return stpcpy(out, quote);
}

/* One element of a reply; REPLY moves behind it. */
static char *
put_reply(char *out, const char **reply)
{
	const char kind = **reply, *text = *reply + 1;
	const char *end = strstr(text, "\r\n");
	long count = strtol(text, NULL, 10);

	*reply = end + 2;
	if (kind == '$' && count >= 0) {
		*reply += count + 2;
		return put_text(out, end + 2, (size_t)count);
	}
	if (kind != '*')
		return kind == '$'
			   ? stpcpy(out, "nil")
			   : put_text(out, kind == '-' ? text - 1 : text,
				 (size_t)(end - text) + (kind == '-'));
	*out++ = '(';
	for (long i = 0; i < count; i++) {
		if (i > 0)
			*out++ = ' ';
		out = put_reply(out, reply);
	}
	return stpcpy(out, ")");
}

/* --- all keys ------------------------------------------------------------- */

struct key {
	const char *name, *life;  /* in seconds, or - */
	char type;		  /* of TYPE, the first letter; s: a set */
	const char *items[ITEMS]; /* of a hash: field=value */
	size_t count;
};

struct keys {
	struct key all[KEYS];
	size_t count;
};

static const char *
ask(const char *word, const char *key, const char *more)
{
	const char *words[] = {word, key, NULL, NULL, NULL, NULL};

	if (more != NULL) {
		words[2] = "0";
		words[3] = "-1";
		words[4] = *more != '\0' ? more : NULL;
	}
	return node_execute(node_find("s1"), words);
}

static void
read_items(struct key *key, const char *reply)
{
	char item[TEXT_LINE], *out = item;
	bool is_list = *reply == '*';
	long left = is_list ? strtol(reply + 1, NULL, 10) : 1;

	if (is_list)
		reply = strstr(reply, "\r\n") + 2;
	for (; left > 0 && key->count < ITEMS; left--) {
		out = put_reply(out, &reply);
		if (key->type == 'h' && left % 2 == 0) {
			*out++ = '=';
			continue;
		}
		key->items[key->count++] =
		    world_copy(item, (size_t)(out - item));
		out = item;
	}
}

static void
read_key(struct key *key)
{
	double left = strtod(ask("PTTL", key->name, NULL) + 1, NULL);
	const char *type = ask("TYPE", key->name, NULL) + 1;
	bool is_text = strncmp(type, "st", 2) == 0;

	key->life = left < 0 ? "-" : world_format("%.9g", left / 1000);
	key->type = *type;
	key->count = 0;
	read_items(key, is_text	       ? ask("GET", key->name, NULL)
			: *type == 'h' ? ask("HGETALL", key->name, NULL)
			: *type == 'l' ? ask("LRANGE", key->name, "")
			: *type == 'z' ? ask("ZRANGE", key->name, "WITHSCORES")
				       : ask("SMEMBERS", key->name, NULL));
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct key *)a)->name,
	    ((const struct key *)b)->name);
}

static void
list_keys(struct keys *keys)
{
	const char *reply = ask("KEYS", "*", NULL);
	const char *copy = world_copy(reply, strlen(reply));

	keys->count = 0;
	while ((copy = strchr(copy, '$')) != NULL) {
		size_t length = (size_t)strtol(copy + 1, NULL, 10);

		copy = strchr(copy, '\n') + 1;
		if (keys->count < KEYS)
			keys->all[keys->count++].name =
			    world_copy(copy, length);
		copy += length;
	}
	qsort(keys->all, keys->count, sizeof(*keys->all), compare_keys);
	for (size_t i = 0; i < keys->count; i++)
		read_key(&keys->all[i]);
}

/* One that begins with these bytes. */
static bool
has_item(const struct key *key, const char *item, size_t length)
{
	for (size_t i = 0; key != NULL && i < key->count; i++)
		if (strncmp(key->items[i], item, length) == 0)
			return true;
	return false;
}

/* All of the key; of a hash that was there what is new, and -FIELD of what is
 * not there any more. */
static char *
put_key(char *out, const struct key *old, const struct key *new)
{
	const struct key *former =
	    old != NULL && old->type == 'h' && new->type == 'h' ? old : NULL;

	out += sprintf(out, "%s", new->life);
	for (size_t i = 0; i < new->count; i++)
		if (!has_item(former, new->items[i], strlen(new->items[i]) + 1))
			out += sprintf(out, " %s", new->items[i]);
	for (size_t i = 0; former != NULL && i < former->count; i++) {
		int length = (int)strcspn(former->items[i], "=");

		if (!has_item(new, former->items[i], (size_t)length + 1))
			out += sprintf(out, " -%.*s", length, former->items[i]);
	}
	return out;
}

static bool
is_same(const struct key *a, const struct key *b)
{
	bool same = strcmp(a->life, b->life) == 0 && a->type == b->type &&
		    a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

/* NAME LIFE ITEM... of those that have changed, and -NAME of those that are
 * gone. */
static void
put_changes(char *out, const struct keys *from, const struct keys *to)
{
	for (size_t i = 0, j = 0; i < from->count || j < to->count;) {
		const struct key *old = i < from->count ? &from->all[i] : NULL;
		const struct key *new = j < to->count ? &to->all[j] : NULL;
		int order = old == NULL	  ? 1
			    : new == NULL ? -1
					  : strcmp(old->name, new->name);
		const char *name = order < 0 ? old->name : new->name;

		i += order <= 0;
		j += order >= 0;
		if (order == 0 && is_same(old, new))
			continue;
		name += strncmp(name, PREFIX, strlen(PREFIX)) == 0
			    ? strlen(PREFIX)
			    : 0;
		out += sprintf(out, order < 0 ? "; -%s" : "; %s ", name);
		if (order >= 0)
			out = put_key(out, order == 0 ? old : NULL, new);
	}
}

/* --- a call ----------------------------------------------------------------
 */

/* The first arguments behind the token, which are mostly the same: for `...`.
 */
static int
add_usual(const char **all, const char *script, const char *token)
{
	char n = token[strlen(token) - 1];
	bool releases = strncmp(script, "release", 7) == 0;
	const char *letter = strstr(script, "counted") == NULL ? "x"
			     : strncmp(token, "s:", 2) == 0    ? "s"
							       : "p";
	const char *const waiter = world_format("%s:" TOKEN "%c:@h", letter, n);
	const char *const run = world_format("run %c", n);
	const char *const words[] = {releases ? waiter : "5000",
	    releases ? world_format("%c 2 %s", n, run) : run,
	    releases ? "0 5 ended" : "60000", releases ? "60000" : "9000",
	    releases ? "9000" : waiter};

	memcpy(all, words, sizeof(words));
	return sizeof(words) / sizeof(*words);
}

void
call_script(char *line)
{
	static struct lines got;
	static struct keys before, after;
	char *words[TEXT_WORDS], *keys[TEXT_WORDS], text[TEXT_LINE], *end;
	const char *all[TEXT_WORDS + 16] = {"EVAL"}, *reply;
	int count = text_split(line, words), first = 2, key_count, n = 3;
	size_t i = 0;

	while (i < sizeof(scripts) / sizeof(*scripts) &&
	       (count < 2 || strcmp(scripts[i].name, words[1]) != 0))
		i++;
	if (i == sizeof(scripts) / sizeof(*scripts))
		table_refuse(line, "no such script");
	key_count = text_split(scripts[i].keys, keys);
	for (int at = 2; at < count && first == 2; at++) {
		if (strcmp(words[at], ":") != 0)
			continue;
		key_count = at - 2;
		memcpy(keys, words + 2, (size_t)key_count * sizeof(*keys));
		first = at + 1;
	}
	all[1] = scripts[i].script->text;
	all[2] = world_format("%d", key_count);
	for (int at = 0; at < key_count; at++)
		all[n++] = call_expand(*keys[at] == ':'
					   ? world_format(PREFIX "%s", keys[at])
					   : keys[at]);
	for (int at = first; at < count; at++)
		if (strcmp(words[at], "...") == 0)
			n += add_usual(all + n, words[1], words[first]);
		else
			all[n++] = call_expand(words[at]);
	list_keys(&before);
	reply = node_request(node_find("s1"), all);
	end = put_reply(stpcpy(text, "| "), &reply);
	list_keys(&after);
	*end = '\0';
	put_changes(end, &before, &after);
	lines_add(&got, text);
	table_compare(&got, "|");
	lines_clear(&got);
}
