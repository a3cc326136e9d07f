"""Where the source can be broken, and how: one change a mutant."""
import bisect
import collections
import re

from tokens import KEYWORDS, tokens_of

SWAPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "~=": "==",
    "&&": "||", "||": "&&", "and": "or", "or": "and",
    "+": "-", "-": "+", "+=": "-=", "-=": "+=",
    "true": "false", "false": "true",
}
LUA_SWAPPED = {**SWAPPED, "==": "~="}
DROPPED = ("!", "not")
# A leak shows to nobody before the process ends, but to the sanitizers.
KEPT_CALLS = ("free", "value_free", "value_reader_free", "closedir", "freeaddrinfo",
              "freeReplyObject", "va_end", "va_start")
LARGE = 10


class Mutant:
    def __init__(self, path, text, start, end, new):
        self.path = path
        self.start, self.end, self.new = start, end, new
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        self.line = text.count("\n", 0, start) + 1
        self.function = function_at(path, text, start)
        self.before = one_line(text[first:last])
        self.after = one_line(text[first:start] + new + text[end:last])
        self.nth = 1  # of those of this function with this key

    def __str__(self):
        return f"{self.path}:{self.line} {self.function}"

    def key(self):
        return f"{self.path} {self.function}", self.before, self.after

    def name(self):
        """The same wherever the line is moved within its function."""
        return " | ".join([*self.key(), str(self.nth)])

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]


def function_at(path, text, at):
    """The name of the function there, or of that before it."""
    pattern = r"^local function (\w+)" if path.endswith(".lua") else r"^(\w+)\("
    names = re.findall(pattern, text[:at], re.MULTILINE)
    return names[-1] if names else "-"


def one_line(text):
    return " ".join(text.split())


def other_number(text):
    """One more; twice as many if it is a time or a size, which one more does not change."""
    match = re.fullmatch(r"(0|[1-9]\d*)([uUlL]*)", text)
    if not match:
        return None
    number = int(match[1])
    if number < 2:
        return f"{1 - number}{match[2]}"
    return f"{number + 1 if number < LARGE else number * 2}{match[2]}"


class Source:
    """A file's tokens, and the changes that its language allows."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = tokens_of(path, text)
        self.lines = [match.start() for match in re.finditer("\n", text)]
        self.is_lua = path.endswith(".lua")

    def line_of(self, token):
        return bisect.bisect(self.lines, token.start)

    def mutants(self):
        depth = 0
        for at, token in enumerate(self.tokens):
            depth += (token.text in "{}") * (1 if token.text == "{" else -1)
            new = self.other(at, token)
            if new is not None:
                yield Mutant(self.path, self.text, token.start, token.end, new)
            end = self.end_of_call(at) if self.is_lua or depth else None
            if end:
                old = self.text[token.start:end]
                yield Mutant(self.path, self.text, token.start, end,
                             ("" if self.is_lua else ";") + "\n" * old.count("\n"))

    def other(self, at, token):
        """What takes the place of this token alone."""
        if token.kind == "number":
            is_same = self.is_size(at) or self.is_first(at)
            return None if is_same else other_number(token.text)
        if token.text in DROPPED:
            return ""
        if token.text in "+-" and not (at and self.tokens[at - 1].is_operand_end()):
            return None
        return (LUA_SWAPPED if self.is_lua else SWAPPED).get(token.text) \
            if token.kind != "string" else None

    def is_size(self, at):
        """Of an array. Behind it there is mostly room."""
        return not self.is_lua and self.text_at(at - 1) == "[" and self.text_at(at + 1) == "]" \
            and len(self.text_at(at)) > 1

    def is_first(self, at):
        """Where string.sub or string.find begins: Lua takes 0 for 1, too."""
        if not self.is_lua or self.text_at(at) != "1":
            return False
        depth = commas = 0
        while at > 0 and depth >= 0:
            at -= 1
            depth += {")": 1, "(": -1}.get(self.text_at(at), 0)
            commas += not depth and self.text_at(at) == ","
        words = [token.text for token in self.tokens[max(0, at - 3):at]]
        return words == ["string", ".", "sub" if commas == 1 else "find"] and commas in (1, 2)

    def end_of_call(self, at):
        """Where the statement ends that begins here and only calls a function."""
        if self.tokens[at].kind != "name" or self.tokens[at].text in KEYWORDS \
                or self.tokens[at].text in KEPT_CALLS or not self.begins_statement(at):
            return None
        at += 1
        while self.text_at(at) in (".", "->") and self.tokens[at + 1].kind == "name":
            at += 2
        if self.text_at(at) != "(":
            return None
        depth = 0
        for last in range(at, len(self.tokens)):
            depth += {"(": 1, ")": -1}.get(self.tokens[last].text, 0)
            if not depth:
                return self.end_of_statement(last)
        return None

    def begins_statement(self, at):
        before = self.text_at(at - 1) if at else ""
        if not self.is_lua:
            if before == ")" and self.text_at(at - 2) == "void":  # (void)call();
                return False
            return before in (";", "{", "}", ")", "else", ":")
        if before in ("then", "do", "else", "repeat", ""):
            return True
        own_line = self.line_of(self.tokens[at]) > self.line_of(self.tokens[at - 1])
        return own_line and (before == "end" or self.tokens[at - 1].is_operand_end())

    def end_of_statement(self, last):
        """That of the call whose bracket closes there."""
        after = self.text_at(last + 1)
        if not self.is_lua:
            return self.tokens[last + 1].end if after == ";" else None
        same_line = after and \
            self.line_of(self.tokens[last + 1]) == self.line_of(self.tokens[last])
        if same_line and after not in ("end", "else", "elseif", ";"):
            return None
        return None if after in ("and", "or", "..", ".", ":") else self.tokens[last].end

    def text_at(self, at):
        return self.tokens[at].text if at < len(self.tokens) else ""


def mutants_of(root, path):
    with open(f"{root}/{path}", encoding="utf-8") as file:
        mutants = list(Source(path, file.read()).mutants())
    seen = collections.Counter()
    for mutant in mutants:
        seen[mutant.key()] += 1
        mutant.nth = seen[mutant.key()]
    return mutants
