#include "redis/cursor.h"

#include <string.h>

struct cursor
cursor_of(const struct value *array)
{
	struct cursor cursor = {.array = array};

	cursor.bad = !value_count(array, &cursor.count);
	return cursor;
}

bool
cursor_has_more(const struct cursor *cursor)
{
	return !cursor->bad && cursor->at < cursor->count;
}

bool
cursor_is_done(const struct cursor *cursor)
{
	return !cursor->bad && cursor->at == cursor->count;
}

const struct value *
cursor_take(struct cursor *cursor)
{
	return value_at(cursor->array, cursor->at++);
}

int64_t
cursor_integer(struct cursor *cursor, int64_t min, int64_t max)
{
	int64_t value;

	if (value_integer(cursor_take(cursor), &value) && value >= min &&
	    value <= max)
		return value;
	cursor->bad = true;
	return min;
}

bool
cursor_flag(struct cursor *cursor)
{
	return cursor_integer(cursor, 0, 1) == 1;
}

const char *
cursor_text(struct cursor *cursor, size_t max)
{
	const char *text = value_text(cursor_take(cursor));

	if (text != NULL && strlen(text) <= max)
		return text;
	cursor->bad = true;
	return "";
}
