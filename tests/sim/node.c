#include "node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hiredis/hiredis.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <openssl/sha.h>

#include "actor.h"
#include "oracle.h"
#include "replica.h"

/* What servers' clocks show when a history begins, like those of the hosts. */
#define EPOCH_US INT64_C(1781519200000000)
enum { COMMAND_WORDS = 256 };
enum { OWN_CLIENT = -1 }; /* has no connection */

/* NOLINTBEGIN(*-avoid-non-const-global-variables): one set of servers a world
 */
static struct {
	lua_State *lua;
	struct node *nodes[NODES];
	int count;
	struct actor *asker; /* whose request is executed */
	struct die die;
} nodes;
/* NOLINTEND(*-avoid-non-const-global-variables) */

/* --- Lua ---------------------------------------------------------------- */

static void
call(int arguments, int results)
{
	if (lua_pcall(nodes.lua, arguments, results, 0) == 0)
		return;
	fprintf(stderr, "sim: seed %" PRIu64 ": the double fails: %s\n",
	    world.seed, lua_tostring(nodes.lua, -1));
	abort();
}

/* Pushes the function, and the double as its first argument. */
static void
push_method(const struct node *node, const char *name)
{
	lua_rawgeti(nodes.lua, LUA_REGISTRYINDEX, node->lua);
	lua_getfield(nodes.lua, -1, name);
	lua_insert(nodes.lua, -2);
}

static int
lua_clock(lua_State *lua)
{
	const struct node *node = lua_touserdata(lua, lua_upvalueindex(1));

	lua_pushnumber(lua, (lua_Number)node_clock_us(node));
	return 1;
}

static int
lua_dice(lua_State *lua)
{
	lua_pushnumber(lua, (lua_Number)die_between(&nodes.die, 1,
				(int64_t)luaL_checknumber(lua, 1)));
	return 1;
}

/* Helpers' keys are nobody's promise. */
static int
lua_watch(lua_State *lua)
{
	const struct node *node = lua_touserdata(lua, lua_upvalueindex(1));
	const char *key = luaL_checkstring(lua, 1);

	if (node->primary == NULL && strstr(key, ":rlk") == NULL)
		oracle_on_key(nodes.asker, world_copy(key, strlen(key)),
		    lua_toboolean(lua, 2));
	return 0;
}

static int
lua_sha1hex(lua_State *lua)
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	char text[2 * SHA_DIGEST_LENGTH + 1];
	size_t length;
	const char *bytes = luaL_checklstring(lua, 1, &length);

	SHA1((const unsigned char *)bytes, length, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
	lua_pushstring(lua, text);
	return 1;
}

void
node_load(const char *folder)
{
	lua_State *lua = nodes.lua = luaL_newstate();
	char path[4096];

	luaL_openlibs(lua);
	lua_getglobal(lua, "package");
	snprintf(path, sizeof(path), "%s/?.lua", folder);
	lua_pushstring(lua, path);
	lua_setfield(lua, -2, "path");
	snprintf(path, sizeof(path), "%s/redis.lua", folder);
	if (luaL_loadfile(lua, path) != 0) {
		fprintf(stderr, "sim: %s\n", lua_tostring(lua, -1));
		fflush(stdout);
		_exit(2);
	}
	call(0, 1);
	lua_setglobal(lua, "double");
	snprintf(path, sizeof(path), "%s/fleet.lua", folder);
	if (luaL_loadfile(lua, path) != 0)
		abort();
	call(0, 1);
	lua_setglobal(lua, "fleet");
}

/* --- servers -----------------------------------------------------------------
 */

int64_t
node_epoch_us(void)
{
	return EPOCH_US;
}

int64_t
node_clock_us(const struct node *node)
{
	return EPOCH_US + node->offset_us + world.now +
	       world.now / 1000000 * node->rate_ppm +
	       world.now % 1000000 * node->rate_ppm / 1000000;
}

static struct node *
new_node(const char *name)
{
	struct node *node = world_alloc(sizeof(*node));

	if (nodes.count == 0)
		nodes.die = die_of("servers", 0);
	node->name = name;
	node->number = nodes.count;
	node->tick_at = WORLD_NEVER;
	node->die = die_of(name, 0);
	nodes.nodes[nodes.count++] = node;
	return node;
}

/* With the table of its properties on the stack. */
static void
push_properties(struct node *node)
{
	lua_State *lua = nodes.lua;

	lua_newtable(lua);
	lua_pushstring(lua, node->name);
	lua_setfield(lua, -2, "id");
	lua_pushfstring(lua, "10.0.0.%d", node->number + 1);
	lua_setfield(lua, -2, "host");
	lua_pushinteger(lua, 6379);
	lua_setfield(lua, -2, "port");
	lua_pushstring(lua, world_format("%040d", node->number + 1));
	lua_setfield(lua, -2, "run_id");
	lua_pushstring(lua, "main");
	lua_setfield(lua, -2, "master");
	lua_pushstring(lua, "7.0.15");
	lua_setfield(lua, -2, "version");
	lua_pushlightuserdata(lua, node);
	lua_pushcclosure(lua, lua_clock, 1);
	lua_setfield(lua, -2, "now_us");
	lua_pushlightuserdata(lua, node);
	lua_pushcclosure(lua, lua_watch, 1);
	lua_setfield(lua, -2, "watch");
	lua_pushcfunction(lua, lua_dice);
	lua_setfield(lua, -2, "dice");
	lua_pushcfunction(lua, lua_sha1hex);
	lua_setfield(lua, -2, "sha1hex");
}

static struct node *
add_double(const char *name, const char *kind)
{
	struct node *node = new_node(name);
	lua_State *lua = nodes.lua;

	lua_getglobal(lua, "double");
	lua_getfield(lua, -1, kind);
	push_properties(node);
	call(1, 1);
	node->lua = luaL_ref(lua, LUA_REGISTRYINDEX);
	lua_pop(lua, 1);
	return node;
}

struct node *
node_add(const char *name)
{
	return add_double(name, "server");
}

/* A function of fleet.lua. */
static void
push_fleet(const char *function)
{
	lua_getglobal(nodes.lua, "fleet");
	lua_getfield(nodes.lua, -1, function);
	lua_remove(nodes.lua, -2);
}

static void
push_node(const struct node *node)
{
	lua_rawgeti(nodes.lua, LUA_REGISTRYINDEX, node->lua);
}

int64_t
node_relate(const char *function, const struct node *a, const struct node *b)
{
	int64_t number;

	push_fleet(function);
	push_node(a);
	push_node(b);
	call(2, 1);
	number = (int64_t)lua_tonumber(nodes.lua, -1);
	lua_pop(nodes.lua, 1);
	return number;
}

struct node *
node_add_sentinel(const char *name, struct node *primary)
{
	struct node *node = add_double(name, "sentinel");

	node->is_sentinel = true;
	node_relate("watch", node, primary);
	return node;
}

struct node *
node_find(const char *name)
{
	for (int i = 0; i < nodes.count; i++)
		if (strcmp(nodes.nodes[i]->name, name) == 0)
			return nodes.nodes[i];
	return NULL;
}

struct node *
node_at(uint32_t ipv4)
{
	uint32_t number = (ipv4 & 0xff) - 1;

	return (ipv4 >> 8) == 10 << 16 && number < (uint32_t)nodes.count
		   ? nodes.nodes[number]
		   : NULL;
}

int
node_count(void)
{
	return nodes.count;
}

struct node *
node_number(int number)
{
	return number < nodes.count ? nodes.nodes[number] : NULL;
}

void
node_end(void)
{
	for (int i = 0; i < nodes.count; i++)
		luaL_unref(nodes.lua, LUA_REGISTRYINDEX, nodes.nodes[i]->lua);
	nodes.count = 0;
}

/* --- connections
 * ----------------------------------------------------------------- */

bool
node_accepts(const struct node *node)
{
	return !node->is_down;
}

bool
node_is_hole(const struct node *node)
{
	return node->is_hole;
}

int64_t
node_delay(const struct node *node)
{
	return node->delay_us;
}

void
node_accept(struct conn *conn)
{
	conn->reader = redisReaderCreate();
	conn->is_served = true;
	push_method(conn->node, "connect");
	lua_pushinteger(nodes.lua, conn->number);
	call(2, 1);
	conn->client = luaL_ref(nodes.lua, LUA_REGISTRYINDEX);
}

void
node_forget(struct conn *conn)
{
	if (!conn->is_served)
		return;
	conn->is_served = false;
	push_method(conn->node, "disconnect");
	lua_rawgeti(nodes.lua, LUA_REGISTRYINDEX, conn->client);
	call(2, 0);
	node_drain(conn->node);
	luaL_unref(nodes.lua, LUA_REGISTRYINDEX, conn->client);
}

static void
trace_command(const struct conn *conn, const redisReply *words)
{
	char text[200];
	size_t length = 0;

	for (size_t i = 0; i < words->elements && length < sizeof(text) - 1;
	     i++) {
		const char *word = words->element[i]->str;
		if (i == 1 && words->element[i]->len > 60)
			word = "(script)";
		length += (size_t)snprintf(text + length, sizeof(text) - length,
		    "%s%s", i > 0 ? " " : "", word);
	}
	world_trace("  %s < %s: %s", conn->node->name,
	    conn->actor != NULL ? conn->actor->name : "(copy)", text);
}

/* Commands in scripts, so far. */
static int64_t
count_calls(const struct node *node)
{
	int64_t calls;

	push_node(node);
	lua_getfield(nodes.lua, -1, "calls");
	calls = (int64_t)lua_tonumber(nodes.lua, -1);
	lua_pop(nodes.lua, 2);
	return calls;
}

static void
execute(struct conn *conn, const redisReply *words)
{
	int64_t calls = count_calls(conn->node);
	lua_State *lua = nodes.lua;

	if (world_is_traced())
		trace_command(conn, words);
	push_method(conn->node, "request");
	lua_rawgeti(lua, LUA_REGISTRYINDEX, conn->client);
	lua_createtable(lua, (int)words->elements, 0);
	for (size_t i = 0; i < words->elements; i++) {
		lua_pushlstring(lua, words->element[i]->str,
		    words->element[i]->len);
		lua_rawseti(lua, -2, (int)i + 1);
	}
	nodes.asker = conn->actor;
	call(3, 0);
	nodes.asker = NULL;
	if (conn->actor != NULL) {
		conn->actor->asked_at = world.now;
		conn->actor->cost.requests++;
		conn->actor->cost.calls += count_calls(conn->node) - calls;
	}
	node_drain(conn->node);
}

/* Executes what has arrived, as far as it is whole. */
void
node_read(struct conn *conn)
{
	void *words;

	while (conn->is_served && !conn->node->is_frozen &&
	       redisReaderGetReply(conn->reader, &words) == REDIS_OK &&
	       words != NULL) {
		execute(conn, words);
		freeReplyObject(words);
	}
}

static void
on_tick(void *who, void *what)
{
	struct node *node = who;

	(void)what;
	node->tick_at = WORLD_NEVER;
	if (node->is_frozen || node->is_down)
		return;
	push_method(node, "tick");
	call(1, 0);
	node_drain(node);
}

static void
plan_tick(struct node *node)
{
	int64_t at;

	push_method(node, "next_us");
	call(1, 1);
	if (!lua_isnil(nodes.lua, -1)) {
		int64_t in =
		    (int64_t)lua_tonumber(nodes.lua, -1) - node_clock_us(node);
		at = world.now + (in < 0 ? 0 : in + in / 100 + 1);
		if (at < node->tick_at || node->tick_at < world.now) {
			node->tick_at = at;
			world_at(at, on_tick, node, NULL);
		}
	}
	lua_pop(nodes.lua, 1);
}

/* --- a cluster
 * --------------------------------------------------------------------- */

void
node_make_cluster(void)
{
	push_fleet("share_slots");
	for (int i = 0; i < nodes.count; i++)
		push_node(nodes.nodes[i]);
	call(nodes.count, 0);
}

void
node_move_slot(const char *key, int stage)
{
	push_fleet("move");
	lua_pushstring(nodes.lua, key);
	lua_pushinteger(nodes.lua, stage);
	call(2, 0);
	for (int i = 0; i < nodes.count; i++)
		node_drain(nodes.nodes[i]);
}

void
node_drain(struct node *node)
{
	lua_State *lua = nodes.lua;
	size_t count;

	lua_rawgeti(lua, LUA_REGISTRYINDEX, node->lua);
	lua_getfield(lua, -1, "out");
	count = lua_objlen(lua, -1);
	for (size_t i = 1; i < count; i += 2) {
		const char *bytes;
		struct conn *conn;
		size_t length;

		lua_rawgeti(lua, -1, (int)i);
		lua_getfield(lua, -1, "id");
		conn = network_conn((int)lua_tointeger(lua, -1));
		lua_getfield(lua, -2, "closed");
		lua_rawgeti(lua, -4, (int)i + 1);
		bytes = lua_tolstring(lua, -1, &length);
		if (world_is_traced() && length > 0)
			world_trace("  %s > %s: %.*s", node->name,
			    conn->actor != NULL ? conn->actor->name : "(copy)",
			    (int)(length > 100 ? 100 : length), bytes);
		if (length > 0)
			network_reply(conn, bytes, length);
		if (lua_toboolean(lua, -2) && conn->is_served)
			network_hang_up(conn);
		lua_pop(lua, 4);
	}
	if (count > 0) {
		lua_newtable(lua);
		lua_setfield(lua, -3, "out");
	}
	lua_pop(lua, 2);
	plan_tick(node);
	replica_plan_links(node);
}

/* --- without a connection
 * ----------------------------------------------------------- */

/* Takes the reply to our own client out of the node's: it has no connection.
 * What the command has caused may stand before it or behind it, such as the end
 * of another's wait. */
static const char *
take_own_reply(struct node *node)
{
	lua_State *lua = nodes.lua;
	const char *reply = "";
	int count, at = 0;

	lua_rawgeti(lua, LUA_REGISTRYINDEX, node->lua);
	lua_getfield(lua, -1, "out");
	count = (int)lua_objlen(lua, -1);
	lua_newtable(lua);
	for (int i = 1; i < count; i += 2) {
		lua_rawgeti(lua, -2, i);
		lua_getfield(lua, -1, "id");
		lua_rawgeti(lua, -4, i + 1);
		if (lua_tointeger(lua, -2) == OWN_CLIENT) {
			reply = lua_tostring(lua, -1);
			reply = world_copy(reply, strlen(reply));
			lua_pop(lua, 3);
			continue;
		}
		lua_rawseti(lua, -4, at + 2);
		lua_pop(lua, 1);
		lua_rawseti(lua, -2, at + 1);
		at += 2;
	}
	lua_setfield(lua, -3, "out");
	lua_pop(lua, 2);
	return reply;
}

static const char *
ask(struct node *node, const char *function, const char *const *words)
{
	lua_State *lua = nodes.lua;
	const char *reply;

	if (node->own_client == 0) {
		push_method(node, "connect");
		lua_pushinteger(lua, OWN_CLIENT);
		call(2, 1);
		node->own_client = luaL_ref(lua, LUA_REGISTRYINDEX);
	}
	push_fleet(function);
	push_node(node);
	lua_rawgeti(lua, LUA_REGISTRYINDEX, node->own_client);
	lua_newtable(lua);
	for (int i = 0; words[i] != NULL; i++) {
		lua_pushstring(lua, words[i]);
		lua_rawseti(lua, -2, i + 1);
	}
	call(3, 0);
	reply = take_own_reply(node);
	node_drain(node);
	return reply;
}

const char *
node_execute(struct node *node, const char *const *words)
{
	return ask(node, "execute", words);
}

const char *
node_request(struct node *node, const char *const *words)
{
	return ask(node, "request", words);
}

/* --- faults
 * -------------------------------------------------------------------------- */

static void
read_all(struct node *node)
{
	for (int i = 0; i < network_count(); i++)
		if (network_conn(i)->node == node && network_conn(i)->is_served)
			node_read(network_conn(i));
}

void
node_freeze(struct node *node, bool frozen)
{
	node->is_frozen = frozen;
	if (frozen || node->is_down)
		return;
	on_tick(node, NULL);
	read_all(node);
}

void
node_stop(struct node *node)
{
	node->is_down = true;
	network_cut((struct network_choice){.node = node});
}

void
node_start(struct node *node, const char *data)
{
	node->is_down = node->is_frozen = false;
	push_method(node, "restart");
	lua_newtable(nodes.lua);
	lua_pushstring(nodes.lua, data);
	lua_setfield(nodes.lua, -2, "data");
	lua_pushstring(nodes.lua,
	    world_format("%040d", ++node->starts * NODES + node->number + 1));
	lua_setfield(nodes.lua, -2, "run_id");
	call(2, 0);
	node_drain(node);
}

void
node_step_clock(struct node *node, int64_t us)
{
	node->offset_us += us;
	node->tick_at = WORLD_NEVER;
	node_drain(node);
}

void
node_do(struct node *node, const char *method, const char *word)
{
	push_method(node, method);
	lua_pushstring(nodes.lua, word);
	call(2, 0);
	node_drain(node);
}
