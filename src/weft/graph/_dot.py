"""One tokenizer and parser for the two languages with arrows and braces, DOT and dagitty."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import NoReturn

from .._errors import GraphError, shorten, warn

__all__ = ["read_dot"]

_Listing = tuple[list[Hashable], list[tuple[Hashable, Hashable]]]

_TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | (?m:^)[ \t]*\#[^\n]* )
    | (?P<attributes> \[ (?: "(?:\\.|[^"\\])*" | [^\]"] )* \] )
    | (?P<arrow> <-> | -> | <- | -- )
    | (?P<quoted> "(?:\\.|[^"\\])*" )
    | (?P<bare> -?(?:\.\d+|\d+\.\d*)(?![\w.]) | [\w.]+ | -\d+ )
    | (?P<mark> [{};,=:] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LATENT = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^"])*?[\[\s,](?:latent|unobserved)\s*[\],]', re.DOTALL)
_DIRECTION = re.compile(
    r"""(?:"(?:\\.|[^"\\])*"|[^"])*?[\[\s,;](?:dir|"dir")\s*=\s*(?:"(?P<quoted>\w+)"|(?P<bare>\w+))""", re.DOTALL
)
_REFUSED = {
    "--": "is an edge without a direction, expected `->` or `<-`",
    "<->": "stands for a hidden common cause, expected it as a node of its own: `u -> a; u -> b` instead of `a <-> b`",
    "back": "turns the edge around, expected `b -> a` instead of `a -> b [dir=back]`",
}
_REFUSED |= {"none": _REFUSED["--"], "both": _REFUSED["<->"]}
_MIXED = ("pdag", "mag", "pag")
_DEEPEST = 100


def read_dot(text: str) -> _Listing:
    """Read a DOT ``digraph`` or a dagitty ``dag`` into names, in order of appearance, and (parent, child) pairs."""
    parser = _Parser(text)
    listing = parser.read()
    if parser.latent:
        warn(
            f"the text marks {shorten(parser.latent)} as latent, but no node of a Graph is hidden: each is a column of "
            f"the data. Remove what has no column from the text."
        )
    return listing


class _Parser:
    """Recursive descent over the tokens (kind, value, position)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokenize()
        self.place = 0
        self.names: dict[Hashable, None] = {}
        self.edges: list[tuple[Hashable, Hashable]] = []
        self.latent: dict[str, None] = {}

    def read(self) -> _Listing:
        if self._is_word("strict"):
            self._next()
        kind, word, position = self._next()
        language = word.lower() if kind == "bare" else ""
        if language == "graph":
            self._fail(position, "`graph` is undirected, expected `digraph {` or `dag {` with edges `a -> b`")
        if language in _MIXED:
            self._fail(position, f"`{word}` has edges without a direction, expected a `dag`: direct each of its edges")
        if language not in ("digraph", "dag"):
            self._unexpected((kind, word, position), "`digraph` or `dag`")
        if self._peek()[0] in ("bare", "quoted"):
            self._next()
        self._expect("{")
        self._statements(0)
        if self._peek()[0] != "end":
            self._unexpected(self._peek(), "nothing after the closing brace")
        return list(self.names), self.edges

    def _statements(self, depth: int) -> list[str]:
        """Read statements up to the closing brace and return the names met in them."""
        if depth > _DEEPEST:
            self._fail(self._peek()[2], f"groups are nested more than {_DEEPEST} deep")
        met: dict[str, None] = {}
        while True:
            kind, value, position = self._peek()
            if kind == "mark" and value == "}":
                self._next()
                return list(met)
            if kind == "mark" and value in ";,":
                self._next()
            elif kind == "bare" and value.lower() in ("node", "edge", "graph") and self._peek(1)[0] == "attributes":
                self._next()
                self._attributes(joins=value.lower() == "edge")
            elif kind in ("bare", "quoted") and self._peek(1)[:2] == ("mark", "="):
                self.place += 2
                value_token = self._next()
                if value_token[0] not in ("bare", "quoted"):
                    self._unexpected(value_token, f"a value for {value!r}")
            elif kind == "end":
                self._fail(position, "the text ends before the closing brace `}`")
            else:
                met.update(dict.fromkeys(self._chain(depth)))

    def _chain(self, depth: int) -> list[str]:
        """Read ``a -> b <- {c d}`` and return its names."""
        left = self._operand(depth)
        met, joins = list(left), self._peek()[0] == "arrow"
        while self._peek()[0] == "arrow":
            _, arrow, position = self._next()
            if arrow in _REFUSED:
                self._fail(position, f"`{arrow}` {_REFUSED[arrow]}")
            right = self._operand(depth)
            tails, heads = (left, right) if arrow == "->" else (right, left)
            self.edges += [(tail, head) for tail in tails for head in heads]
            met += right
            left = right
        if _LATENT.match(self._attributes(joins=joins)):
            self.latent.update(dict.fromkeys(met))
        return met

    def _operand(self, depth: int) -> list[str]:
        token = self._next()
        kind, value, _ = token
        if self._opens_subgraph(token):
            if self._peek()[0] in ("bare", "quoted"):
                self._next()
            self._expect("{")
            return self._statements(depth + 1)
        if kind == "mark" and value == "{":
            return self._statements(depth + 1)
        if kind not in ("bare", "quoted"):
            self._unexpected(token, "the name of a node")
        self.names[value] = None
        while self._peek()[:2] == ("mark", ":"):  # a port says where on the node an arrow ends
            self.place += 1
            if self._peek()[0] not in ("bare", "quoted"):
                self._unexpected(self._peek(), "a port")
            self.place += 1
        return [value]

    def _opens_subgraph(self, token: tuple[str, str, int]) -> bool:
        if token[0] != "bare" or token[1].lower() != "subgraph":
            return False
        named = self._peek()[0] in ("bare", "quoted")
        return self._peek(1 if named else 0)[:2] == ("mark", "{")

    def _attributes(self, *, joins: bool) -> str:
        """Read the attributes of nodes or, where it ``joins`` nodes, of an edge, which must leave it its direction."""
        read = ""
        while self._peek()[0] == "attributes":
            _, value, position = self._next()
            read += value
            found = _DIRECTION.match(value) if joins else None
            direction = (found["quoted"] or found["bare"]) if found else "forward"
            if direction in _REFUSED:
                self._fail(position, f"`dir={direction}` {_REFUSED[direction]}")
        return read

    def _is_word(self, word: str) -> bool:
        kind, value, _ = self._peek()
        return kind == "bare" and value.lower() == word

    def _peek(self, ahead: int = 0) -> tuple[str, str, int]:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "", len(self.text))

    def _next(self) -> tuple[str, str, int]:
        token = self._peek()
        self.place += 1
        return token

    def _expect(self, mark: str) -> None:
        token = self._next()
        if token[:2] != ("mark", mark):
            self._unexpected(token, f"`{mark}`")

    def _tokenize(self) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(self.text):
            found = _TOKEN.match(self.text, position)
            if found is None:
                self._fail_at_sign(position)
            kind, value = str(found.lastgroup), found.group()
            if kind == "quoted":
                value = _ESCAPE.sub(_unescape, value[1:-1])
            if kind != "skip":
                tokens.append((kind, value, position))
            position = found.end()
        return tokens

    def _fail_at_sign(self, position: int) -> NoReturn:
        sign = self.text[position]
        if sign == '"':
            self._fail(position, "a quoted name is not closed")
        if sign == "[":
            self._fail(position, "an attribute list `[` is not closed")
        if self.text.startswith("/*", position):
            self._fail(position, "a comment `/*` is not closed")
        self._fail(position, f"met {sign!r}; put a name with other signs than letters, digits, `_` and `.` in quotes")

    def _unexpected(self, token: tuple[str, str, int], wanted: str) -> NoReturn:
        kind, value, position = token
        met = "the end of the text" if kind == "end" else f"{value[:40]!r}"
        self._fail(position, f"met {met}, expected {wanted}")

    def _fail(self, position: int, what: str) -> NoReturn:
        raise GraphError(f"line {self.text.count(chr(10), 0, position) + 1}: {what}.")


def _unescape(found: re.Match[str]) -> str:
    sign = found.group(1)
    if sign == "\n":  # a backslash at the end of a line joins it to the next
        return ""
    return sign if sign in '"\\' else found.group()
