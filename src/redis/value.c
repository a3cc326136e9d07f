/* A value is a reply object of hiredis under another name. */
#include "redis/value.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

struct value_reader {
	redisReader *parser;
	redisReplyObjectFunctions functions; /* of the parser */
	void *(*create_array)(const redisReadTask *task, element_count count);
	struct value_limits limits;
	size_t unparsed; /* bytes behind the last whole value */
	bool too_large;
};

/* NULL when the value is missing or of another type. */
static const redisReply *
as(const struct value *value, int type)
{
	const redisReply *reply = (const redisReply *)value;

	return reply != NULL && reply->type == type ? reply : NULL;
}

const char *
value_error(const struct value *value)
{
	const redisReply *error = as(value, REDIS_REPLY_ERROR);

	return error == NULL ? NULL : error->str;
}

const char *
value_text(const struct value *value)
{
	const redisReply *text = as(value, REDIS_REPLY_STRING);

	return text == NULL ? NULL : text->str;
}

bool
value_integer(const struct value *value, int64_t *number)
{
	const redisReply *integer = as(value, REDIS_REPLY_INTEGER);

	if (integer == NULL)
		return false;
	*number = integer->integer;
	return true;
}

bool
value_is_nil(const struct value *value)
{
	return as(value, REDIS_REPLY_NIL) != NULL;
}

const struct value *
value_at(const struct value *value, size_t index)
{
	const redisReply *array = as(value, REDIS_REPLY_ARRAY);

	return array == NULL || index >= array->elements
		   ? NULL
		   : (const struct value *)array->element[index];
}

bool
value_count(const struct value *value, size_t *count)
{
	const redisReply *array = as(value, REDIS_REPLY_ARRAY);

	*count = array == NULL ? 0 : array->elements;
	return array != NULL;
}

void
value_free(struct value *value)
{
	if (value != NULL)
		freeReplyObject(value);
}

/* --- decoding ------------------------------------------------------------- */

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

/* --- parsing ---------------------------------------------------------- */

/* The library would allocate an array of whatever size is announced. */
static void *
create_array(const redisReadTask *task, element_count count)
{
	const struct value_reader *reader = task->privdata;

	return (size_t)count > reader->limits.elements
		   ? NULL
		   : reader->create_array(task, count);
}

struct value_reader *
value_reader_new(void)
{
	struct value_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return NULL;
	reader->parser = redisReaderCreate();
	if (reader->parser == NULL) {
		free(reader);
		return NULL;
	}
	reader->create_array = reader->parser->fn->createArray;
	reader->functions = *reader->parser->fn;
	reader->functions.createArray = create_array;
	reader->parser->fn = &reader->functions;
	reader->parser->privdata = reader;
	return reader;
}

void
value_reader_free(struct value_reader *reader)
{
	if (reader != NULL)
		redisReaderFree(reader->parser);
	free(reader);
}

int
value_reader_feed(struct value_reader *reader, const char *bytes, size_t length)
{
	reader->unparsed += length;
	return redisReaderFeed(reader->parser, bytes, length) == REDIS_OK ? 0
									  : -1;
}

/* Redis 5 and 6 write "@user_script: LINE: WORDS" for what goes wrong inside of
 * a script, and leave the '-' of an error of their own in it. Others begin with
 * ERR elsewhere. What a script does not catch gets a second place,
 * "ERR Error running script (call to f_DIGEST): @user_script:LINE: ", before
 * it. */
void
value_strip_place(char *error)
{
	static const char raised[] = "ERR Error running script (call to f_";
	static const char place[] = "@user_script:";
	static const char other[] = {'E', 'R', 'R', ' '};
	const size_t length = strlen(place);
	char *words = error, *end;
	size_t code;

	if (strncmp(error, raised, strlen(raised)) == 0)
		words = strstr(error, place);
	while (words != NULL && strncmp(words, place, length) == 0 &&
	       (end = strstr(words + length, ": ")) != NULL)
		words = end + strlen(": ");
	if (words == NULL || words == error ||
	    strncmp(words, place, length) == 0)
		return;
	code = strspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (*words == '-')
		words++;
	else if (code == 0 || words[code] != ' ')
		words = memcpy(words - sizeof(other), other, sizeof(other));
	memmove(error, words, strlen(words) + 1);
}

int
value_reader_next(struct value_reader *reader, struct value_limits limits,
    struct value **value)
{
	void *reply = NULL;

	reader->limits = limits;
	if (redisReaderGetReply(reader->parser, &reply) != REDIS_OK) {
		reader->too_large = reader->parser->err == REDIS_ERR_OOM;
		return -1;
	}
	if (reply == NULL) {
		reader->too_large = reader->unparsed > limits.bytes;
		return reader->too_large ? -1 : 0;
	}
	reader->unparsed = reader->parser->len - reader->parser->pos;
	*value = reply;
	if (value_error(*value) != NULL)
		value_strip_place(((redisReply *)reply)->str);
	return 1;
}

bool
value_reader_is_empty(const struct value_reader *reader)
{
	return reader->unparsed == 0;
}

const char *
value_reader_error(const struct value_reader *reader)
{
	return reader->too_large ? "its answer is too large"
				 : reader->parser->errstr;
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *
value_library(void)
{
	return "hiredis " VERSION_TEXT(HIREDIS_MAJOR, HIREDIS_MINOR,
	    HIREDIS_PATCH) " (" RLOCKRUN_HIREDIS ")";
}
