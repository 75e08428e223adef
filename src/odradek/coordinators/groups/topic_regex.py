"""Patterns of topic names, matched in linear time.

A member of a consumer group may subscribe to a pattern that the broker resolves, and Apache Kafka does that
with RE2. Python's `re` speaks another dialect, and a pattern such as `(a+)+$` would hold up the loop, so
patterns are compiled here: to a small non-deterministic automaton, which is then run as a set of states,
each step remembered (a lazy DFA). The time for a name grows with its length only.

A pattern has to match the whole name; greedy and lazy repetition are then the same. Patterns of more than
MAX_STATES states are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from odradek.coordinators.groups.topic_regex_syntax import (
    WORD,
    Assertion,
    Choice,
    InvalidRegexError,
    Letters,
    Node,
    Repeat,
    Sequence,
    parse,
)

# More than any sensible pattern needs, and few enough that a step stays short.
MAX_STATES: Final = 1000
# Remembered steps; they are forgotten together when there are more.
MAX_STEPS: Final = 20_000


class TopicRegex:
    """A compiled pattern."""

    __slots__ = ("_automaton", "_steps", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._automaton = _Automaton(parse(pattern))
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        automaton, steps = self._automaton, self._steps
        states = automaton.start
        before = ""
        for char in name:
            # Only assertions look at the character before; without them steps are shared more.
            key = (states, before if automaton.has_assertions else "", char)
            following = steps.get(key)
            if following is None:
                if len(steps) >= MAX_STEPS:
                    steps.clear()
                following = steps[key] = automaton.step(states, before, char)
            if not following:
                return False
            states, before = following, char
        return automaton.accepts(states, before)


class _Automaton:
    """States are numbers. A state reads a letter and goes on, checks a place, or only branches."""

    ACCEPT: Final = 0

    def __init__(self, root: Node) -> None:
        self._letters: list[frozenset[str] | None] = [None]
        self._places: list[str | None] = [None]
        self._next: list[tuple[int, ...]] = [()]
        self.start = frozenset((self._build(root, self.ACCEPT),))
        self.has_assertions = any(place is not None for place in self._places)

    def step(self, states: frozenset[int], before: str, char: str) -> frozenset[int]:
        """The states after reading a character."""
        return frozenset(
            target
            for state in self._reachable(states, before, char)
            if (letters := self._letters[state]) is not None and char in letters
            for target in self._next[state]
        )

    def accepts(self, states: frozenset[int], before: str) -> bool:
        """Whether the end may be here."""
        return self.ACCEPT in self._reachable(states, before, "")

    def _reachable(self, states: Iterable[int], before: str, after: str) -> set[int]:
        """All states that can be reached between these two characters without reading."""
        seen = set(states)
        todo = list(seen)
        while todo:
            state = todo.pop()
            if self._letters[state] is not None:
                continue
            place = self._places[state]
            if place is not None and not _PLACES[place](before, after):
                continue
            for target in self._next[state]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    def _add(
        self, letters: frozenset[str] | None, place: str | None, following: tuple[int, ...]
    ) -> int:
        if len(self._next) > MAX_STATES:
            raise InvalidRegexError("the pattern is too large")
        self._letters.append(letters)
        self._places.append(place)
        self._next.append(following)
        return len(self._next) - 1

    def _build(self, node: Node, following: int) -> int:
        """The state where `node` begins, from where it goes on to `following`."""
        match node:
            case Letters(chars):
                return self._add(chars, None, (following,))
            case Assertion(place):
                return self._add(None, place, (following,))
            case Sequence(parts):
                for part in reversed(parts):
                    following = self._build(part, following)
                return following
            case Choice(options):
                return self._add(None, None, tuple(self._build(o, following) for o in options))
            case Repeat(repeated, low, high):
                return self._build_repeat(repeated, low, high, following)

    def _build_repeat(self, node: Node, low: int, high: int | None, following: int) -> int:
        begin = following
        if high is None:
            begin = self._add(None, None, (following,))
            self._next[begin] = (self._build(node, begin), following)
        else:
            for _ in range(high - low):
                begin = self._add(None, None, (self._build(node, begin), following))
        for _ in range(low):
            begin = self._build(node, begin)
        return begin


_PLACES: Final[dict[str, Callable[[str, str], bool]]] = {
    "start": lambda before, after: not before,
    "end": lambda before, after: not after,
    "boundary": lambda before, after: (before in WORD) != (after in WORD),
    "inside": lambda before, after: (before in WORD) == (after in WORD),
}
