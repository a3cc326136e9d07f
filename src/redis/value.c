/* A value is a reply object of hiredis under another name. */
#include "redis/value.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

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

static redisReply *
copy_without_elements(const redisReply *reply)
{
	redisReply *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return NULL;
	*copy = *reply;
	copy->elements = 0;
	copy->element = NULL;
	if (reply->str == NULL)
		return copy;
	copy->str = malloc(reply->len + 1);
	if (copy->str != NULL)
		memcpy(copy->str, reply->str, reply->len + 1);
	return copy;
}

struct value *
value_copy(const struct value *value)
{
	const redisReply *from = (const redisReply *)value;
	redisReply *copy = from == NULL ? NULL : copy_without_elements(from);

	if (copy == NULL || from->elements == 0)
		return (struct value *)copy;
	copy->element = calloc(from->elements, sizeof(redisReply *));
	if (copy->element != NULL)
		copy->elements = from->elements;
	for (size_t i = 0; i < copy->elements; i++)
		copy->element[i] = copy_without_elements(from->element[i]);
	return (struct value *)copy;
}

void
value_free(struct value *value)
{
	if (value != NULL)
		freeReplyObject(value);
}
