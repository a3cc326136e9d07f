-- The scripts run in the server, as Lua 5.1 with these globals.
std = "lua51"
globals = {"redis"}
read_globals = {"KEYS", "ARGV"}
max_line_length = 80
-- Functions that several scripts share have parameters named like their keys and
-- arguments. An exclusive lock needs no letter, and its renewal no clock.
ignore = {"43", "211/letter", "211/now"}
-- The double of a server is no script. The caller may say where its folder is, and
-- LuaJIT has jit.
files["tests/sim"] = {read_globals = {"FOLDER", "jit"}}
