"""What is on the servers of a fleet at the end."""
from resp import ReplyError

PATIENCE_S = 2


def keys_left(fleet):
    """As fields of a record: node, key, kind, pttl_ms and the members of those that
    have any."""
    found = []
    for node in fleet.nodes:
        if node.role != "server":
            continue
        try:
            found += keys_at(node)
        except (OSError, ReplyError):
            pass  # it has not come back
    return found


def keys_at(node):
    def ask(*words):
        return node.query(*words, timeout=PATIENCE_S)
    if ask("ROLE")[0] != "master":
        return []  # what it has is its primary's
    return [{"node": node.name, "key": key, "kind": ask("TYPE", key),
             "pttl_ms": ask("PTTL", key), "members": members_of(key, ask)}
            for key in ask("KEYS", "*")]


def members_of(key, ask):
    kind = ask("TYPE", key)
    if kind == "string":
        return [ask("GET", key)]
    if kind == "zset":
        return ask("ZRANGE", key, 0, -1)
    return []
