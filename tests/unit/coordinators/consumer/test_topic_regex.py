"""Patterns of topic names: RE2's syntax, whole names, and no pattern that can hold the broker up."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinators.groups.topic_regex import TopicRegex
from odradek.coordinators.groups.topic_regex_syntax import InvalidRegexError


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("orders", ["orders"], ["orders-1", "my-orders", ""]),
        ("orders.*", ["orders", "orders-eu"], ["my-orders"]),
        (r"orders\.(eu|us)", ["orders.eu", "orders.us"], ["orders-eu", "orders.eu.x"]),
        ("^a$", ["a"], ["ab"]),
        (r"\Aa\z", ["a"], ["b"]),
        ("a|b|", ["a", "b", ""], ["ab"]),
        ("(?:a|b)+", ["a", "abba"], ["abc", ""]),
        ("(?P<x>a)(?<y>b)", ["ab"], ["a"]),
        ("[a-c]?", ["", "a", "c"], ["d"]),
        ("[^a-c]", ["d", "-", "0"], ["a"]),
        ("[]a]", ["a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        (r"[\w.]+", ["a_b.c"], ["a-b"]),
        (r"[\d-]+", ["1-2"], ["a"]),
        ("[[:upper:]][[:^digit:]]", ["Ab", "A-"], ["ab", "A1"]),
        (r"\pL\p{Nd}\PL\p{^L}", ["a1-_"], ["a1ab"]),
        (r"\D\W\S", ["a-b"], ["1-b"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]),
        ("a{1,2}?b*?c+?", ["abc", "aac"], ["aaabc", "ab"]),
        ("a{,2}", [], ["a", "aa", ""]),
        ("a{x", [], ["a"]),
        ("(?i)oRders", ["ORDERS", "orders"], ["order"]),
        ("(?i:a)b", ["Ab", "ab"], ["aB"]),
        ("a(?i)b", ["aB", "ab"], ["AB"]),
        ("(?i)a(?-i)b", ["Ab"], ["AB"]),
        ("(?i)[a-c]x", ["Bx", "bX"], ["dx"]),
        ("(?smU)a", ["a"], ["b"]),
        (r"\Qa.b\E.", ["a.bc"], ["axbc"]),
        (r"\Qa.b", ["a.b"], ["axb"]),
        (r"\Qab\E+", ["abb"], ["abab"]),
        (r"\x61\x{62}\143\055", ["abc-"], ["abc"]),
        (r"\ba\b-\Bb?", ["a-"], ["a-b", "aa"]),
        (r".*\b-.*", ["a-b"], ["a.-.b", "--"]),
        ("", [""], ["a"]),
        ("()*", [""], ["a"]),
        ("(a*)*b", ["b", "aab"], ["a"]),
        ("ü.*", [], ["u"]),
    ],
)
def test_what_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    regex = TopicRegex(pattern)
    assert [name for name in yes if not regex.matches(name)] == []
    assert [name for name in no if regex.matches(name)] == []


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "{?", "a)", "(a", "[a", "[", "[b-a]", "[[:foo:]]", "[[:alpha:", "a**", "a+*", "a{1}{2}",
     "*", "+a", "a|?", "(?i)*", "{2}", "a{1001}", "a{2,1}", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)",
     "(?", "(?P<a", "(?P<!>a)", "(?<a>x)(?<a>y)", "(?i-)a", "(?--i)a", r"\1", r"(a)\1", r"\y", r"\Z", r"\C",
     r"\ü", "a\\",
     r"\x", r"\xg0", r"\x{110000}", r"\x{}", r"\p{Greek}", r"\pX", r"\p{", "(a{100}){100}", "a++",
     "(" * 200 + ")" * 200],
)  # fmt: skip
def test_what_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegexError):
        TopicRegex(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a|a)*", "(a|aa)+", "(.*)*x", "(a?){50}a{50}", ".*.*.*x"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """What makes Python's `re` run for hours is a matter of the name's length here."""
    regex = TopicRegex(pattern)
    started = perf_counter()
    for n in range(50):
        regex.matches("a" * (199 + n) + "-")
    assert perf_counter() - started < 2


def test_ten_thousand_names_are_matched_in_an_instant() -> None:
    regex = TopicRegex("(orders|payments)-.*-[0-9]+")
    names = [f"orders-region-{n}" for n in range(10_000)]
    started = perf_counter()
    assert sum(map(regex.matches, names)) == 10_000
    assert perf_counter() - started < 0.5


simple = st.recursive(
    st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", "", r"\w", r"\d", "$", "^", r"\b", r"\B"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(simple, st.lists(st.text("ab-1", min_size=1, max_size=6), max_size=8))
def test_it_agrees_with_re_where_the_dialects_do(pattern: str, names: list[str]) -> None:
    ours, theirs = TopicRegex(pattern), re.compile(pattern)
    for name in names:
        assert ours.matches(name) == (theirs.fullmatch(name) is not None), (pattern, name)
