"""RE2's syntax for patterns of topic names, parsed into a small tree.

The alphabet is that of topic names. What a pattern says about other characters cannot matter, so a class
is just a set of letters.

What RE2 refuses is refused (back references, look-around, possessive or doubled repetition), and so are a
few things RE2 knows: other scripts than Latin in `\\p{...}`, `\\C`, escaped letters beyond ASCII.
"""

from __future__ import annotations

import string
import unicodedata
from typing import Final, NamedTuple

ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "._-")
MAX_REPEAT: Final = 1000
MAX_DEPTH: Final = 100

WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
_DIGIT: Final = frozenset(string.digits)
_PERL: Final = {"d": _DIGIT, "w": WORD, "s": frozenset[str]()}
_POSIX: Final = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "ascii": ALPHABET,
    "blank": frozenset[str](),
    "cntrl": frozenset[str](),
    "digit": _DIGIT,
    "graph": ALPHABET,
    "lower": frozenset(string.ascii_lowercase),
    "print": ALPHABET,
    "punct": frozenset("._-"),
    "space": frozenset[str](),
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}
_ESCAPES: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CATEGORIES: Final = frozenset("CLMNPSZ") | frozenset(
    unicodedata.category(chr(code)) for code in range(0x3000)
)
# The scripts that topic names are written in.
_SCRIPTS: Final = {
    "Any": ALPHABET,
    "Latin": _POSIX["alpha"],
    "Common": ALPHABET - _POSIX["alpha"],
}


class InvalidRegexError(ValueError):
    """The pattern cannot be used; the text says why."""


class Letters(NamedTuple):
    """One character out of a set."""

    chars: frozenset[str]


class Sequence(NamedTuple):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(NamedTuple):
    """One of several."""

    options: tuple[Node, ...]


class Repeat(NamedTuple):
    """Between `low` and `high` times; no limit when None."""

    node: Node
    low: int
    high: int | None


class Assertion(NamedTuple):
    """Nothing, but only at a place: `start`, `end`, `boundary`, `inside`."""

    place: str


Node = Letters | Sequence | Choice | Repeat | Assertion


def parse(pattern: str) -> Node:
    """The tree of a pattern; InvalidRegexError when it has none."""
    return _Parser(pattern).parse()


class _Parser:
    """Recursive descent over RE2's grammar."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._depth = 0
        self._ignore_case = False
        self._names: set[str] = set()

    def parse(self) -> Node:
        """The whole pattern."""
        node = self._choice()
        if self._at < len(self._text):
            raise InvalidRegexError("unexpected )")
        return node

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if not self._peek(text):
            return False
        self._at += len(text)
        return True

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise InvalidRegexError("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _until(self, end: str, what: str) -> str:
        stop = self._text.find(end, self._at)
        if stop < 0:
            raise InvalidRegexError(f"missing {end} after {what}")
        found = self._text[self._at : stop]
        self._at = stop + len(end)
        return found

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and not (self._peek("|") or self._peek(")")):
            if self._take("\\Q"):
                quoted, _, rest = self._text[self._at :].partition("\\E")
                self._at = len(self._text) - len(rest)
                parts.extend(self._literal(char) for char in quoted)
                if not quoted:
                    continue
                parts[-1] = self._repeated(parts[-1])
                continue
            atom = self._atom()
            if atom is not None:
                parts.append(self._repeated(atom))
            elif parts:
                parts[-1] = self._repeated(
                    parts[-1]
                )  # Flags are nothing: it repeats what was before.
            elif self._repetition() is not None:
                raise InvalidRegexError("nothing to repeat after flags")
        return Sequence(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        bounds = self._repetition()
        if bounds is None:
            return node
        if self._repetition() is not None:
            raise InvalidRegexError("a repetition of a repetition needs parentheses")
        return Repeat(node, *bounds)

    def _repetition(self) -> tuple[int, int | None] | None:
        """`*`, `+`, `?` or `{n,m}` here, with the `?` of the lazy kind; None when there is none."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        bounds = next((simple[sign] for sign in simple if self._take(sign)), None)
        if bounds is None:
            bounds = self._braces()
        if bounds is not None:
            self._take("?")
        return bounds

    def _braces(self) -> tuple[int, int | None] | None:
        if not self._peek("{"):
            return None
        inside, closed, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not _is_number(low) or (high and not _is_number(high)):
            return None  # Then it is a literal brace, as in RE2.
        self._at += len(inside) + 2
        least = int(low)
        most = least if not comma else int(high) if high else None
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise InvalidRegexError(f"bad repetition count {{{inside}}}")
        return least, most

    def _atom(self) -> Node | None:
        """One thing that may be repeated; None for what only sets flags."""
        char = self._char()
        match char:
            case "(":
                return self._group()
            case "[":
                return Letters(self._class())
            case ".":
                return Letters(ALPHABET)
            case "^":
                return Assertion("start")
            case "$":
                return Assertion("end")
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise InvalidRegexError(f"nothing to repeat before {char}")
            case "{":
                self._at -= 1
                if self._braces() is not None:
                    raise InvalidRegexError("nothing to repeat before {")
                self._at += 1
                if self._repetition() is not None:
                    raise InvalidRegexError("a brace that is repeated needs a backslash")
                return self._literal(char)
            case _:
                return self._literal(char)

    def _literal(self, char: str) -> Letters:
        return Letters(self._folded(frozenset((char,))) & ALPHABET)

    def _folded(self, chars: frozenset[str]) -> frozenset[str]:
        if not self._ignore_case:
            return chars
        return frozenset(c for char in chars for c in (char.lower(), char.upper()))

    def _group(self) -> Node | None:
        ignored_case = self._ignore_case
        if self._take("?"):
            if self._take("P<") or (self._peek("<") and not self._is_look_behind()):
                self._take("<")
                name = self._until(">", "the name of a group")
                if not (name.isascii() and name.replace("_", "a").isalnum()) or name in self._names:
                    raise InvalidRegexError(f"bad name of a group: {name}")
                self._names.add(name)
            elif not self._flags():
                return None
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidRegexError("too many nested groups")
        node = self._choice()
        if not self._take(")"):
            raise InvalidRegexError("missing )")
        self._depth -= 1
        self._ignore_case = ignored_case
        return node

    def _is_look_behind(self) -> bool:
        return self._peek("<=") or self._peek("<!")

    def _flags(self) -> bool:
        """`i`, `m`, `s`, `U`, set or cleared; whether a group follows (`:`)."""
        on, seen = True, False
        while True:
            char = self._char()
            if char == "i":
                self._ignore_case = on
            elif char == "-" and on:
                on, seen = False, False
                continue
            elif char in ":)" and (on or seen):
                return char == ":"
            elif char not in "msU":
                raise InvalidRegexError(f"(?{char} is not supported")
            seen = True

    def _escape(self) -> Node:
        places = {"A": "start", "z": "end", "b": "boundary", "B": "inside"}
        for letter, place in places.items():
            if self._take(letter):
                return Assertion(place)
        return Letters(self._escaped_set())

    def _escaped_set(self) -> frozenset[str]:
        """What follows a backslash, outside of a class or inside."""
        char = self._char()
        if char.lower() in _PERL:
            chars = _PERL[char.lower()]
            return chars if char.islower() else ALPHABET - chars
        if char in "pP":
            return self._unicode(negated=char == "P")
        return self._folded(frozenset((self._escaped_char(char),))) & ALPHABET

    def _escaped_char(self, char: str) -> str:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            digits = self._until("}", "\\x{") if self._take("{") else self._char() + self._char()
            if not digits or not set(digits) <= set(string.hexdigits) or int(digits, 16) > 0x10FFFF:
                raise InvalidRegexError(f"bad character number {digits}")
            return chr(int(digits, 16))
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self._at < len(self._text):
                if self._text[self._at] not in "01234567":
                    break
                digits += self._char()
            if char != "0" and len(digits) == 1:
                raise InvalidRegexError(f"back references (\\{char}) are not supported")
            return chr(int(digits, 8))
        if char.isalnum() or not char.isascii():
            raise InvalidRegexError(f"\\{char} is not supported")
        return char

    def _unicode(self, *, negated: bool) -> frozenset[str]:
        name = self._until("}", "\\p{") if self._take("{") else self._char()
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if name in _SCRIPTS:
            chars = _SCRIPTS[name]
        elif name in _CATEGORIES:
            chars = frozenset(c for c in ALPHABET if unicodedata.category(c).startswith(name))
        else:
            raise InvalidRegexError(f"the class \\p{{{name}}} is not supported")
        chars = self._folded(chars)
        return ALPHABET - chars if negated else chars

    def _class(self) -> frozenset[str]:
        """`[...]`, after its opening bracket."""
        negated = self._take("^")
        chars: set[str] = set()
        first = True
        while first or not self._peek("]"):
            first = False
            if self._take("[:"):
                chars |= self._posix()
                continue
            single = self._class_char(chars)
            if single is None:
                continue
            last = single
            if self._peek("-") and not self._peek("-]"):
                self._take("-")
                end = self._class_char(chars)
                if end is None or end < single:
                    raise InvalidRegexError(f"bad range in a class after {single}-")
                last = end
            chars |= self._folded(frozenset(c for c in ALPHABET if single <= c <= last))
        self._take("]")
        return ALPHABET - chars if negated else frozenset(chars)

    def _class_char(self, chars: set[str]) -> str | None:
        """One character of a class; None when it was a whole set, which is added to `chars`."""
        char = self._char()
        if char != "\\":
            return char
        following = self._char()
        self._at -= 1
        if following.lower() in _PERL or following in "pP":
            chars |= self._escaped_set()
            return None
        return self._escaped_char(self._char())

    def _posix(self) -> frozenset[str]:
        name = self._until(":]", "[:")
        negated = name.startswith("^")
        if name.lstrip("^") not in _POSIX:
            raise InvalidRegexError(f"there is no class [:{name}:]")
        chars = _POSIX[name.lstrip("^")]
        return ALPHABET - chars if negated else chars


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
