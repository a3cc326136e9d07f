"""C and Lua as tokens: as much of both as finding places to break needs."""
import re

C = re.compile(r"""
    (?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*|\s+)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

LUA = re.compile(r"""
    (?P<skip>--\[\[.*?\]\]|--[^\n]*|\s+)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\d(?:[eE][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>\.\.\.|\.\.|<=|>=|==|~=|.)
""", re.VERBOSE | re.DOTALL)

KEYWORDS = {
    "and", "break", "case", "const", "do", "else", "elseif", "end", "for", "function",
    "goto", "if", "in", "local", "not", "or", "repeat", "return", "sizeof", "static",
    "struct", "switch", "then", "until", "while",
}


class Token:
    def __init__(self, match):
        self.kind = match.lastgroup
        self.text = match.group()
        self.start, self.end = match.span()

    def is_operand_end(self):
        """What stands before a binary sign."""
        return self.kind in ("number", "string") or self.text in (")", "]") \
            or self.kind == "name" and self.text not in KEYWORDS


def tokens_of(path, text):
    pattern = LUA if path.endswith(".lua") else C
    return [Token(match) for match in pattern.finditer(text) if match.lastgroup != "skip"]
