"""Signs: by which punctuation two texts of the same words are two things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.forms import may_have_signs, other_signs

OTHER = (
    ("C++", "C#"),
    ("C++", "C"),
    ("a - b", "a + b"),
    ("compute a - b first", "compute a + b first"),
    ("foo!", "foo?"),
    ("save!", "save?"),
    (".NET", "NET"),
    ("a < b", "a > b"),
    ("latency <5 ms", "latency >5 ms"),
    ("*args", "**args"),
    ("f(*args)", "f(**args)"),
    ("/etc/hosts", "etc/hosts"),
    ("src/app", "src-app"),
    ("./run", "../run"),
    ("getUser", "setUser"),
    ("call getUser on login", "call setUser on login"),
    ("max_retries is 3", "min_retries is 3"),
    ("user_id", "user_ids"),
    ("--force", "-force"),
    ("a && b", "a || b"),
    ("x == y", "x != y"),
    ("x = y", "x == y"),
    ("A -> B", "A <- B"),
    ("std::move", "std::copy"),
    ("!important", "important"),
    ("foo.bar", "foo.baz"),
    ("/var/log/app", "/var/lib/app"),
    ("x += 1", "x -= 1"),
    ("p * q", "p / q"),
    ("a ≤ b", "a ≥ b"),
    ("R-", "R+"),
    ("vitamin D", "vitamin D+"),
    ("write C code", "write C++ code"),
    ("uses F# daily", "uses F daily"),
    ("~/bin", "/bin"),
)
SAME = (
    ("U.S.A.", "USA"),
    ("O'Brien", "OBrien"),
    ("Smith & Sons", "Smith Sons"),
    ("Yahoo!", "Yahoo"),
    ("Jean-Luc", "Jean Luc"),
    ("**bold** move", "bold move"),
    ("a *nice* day", "a nice day"),
    ("`foo` is used", "foo is used"),
    ("the foo() call", "the foo call"),
    ("node.js", "node js"),
    ("scikit-learn", "scikit_learn"),
    ("Hello, world!", "Hello world"),
    ("AT&T", "AT&T."),
    ("(see notes)", "see notes"),
    ("- item one", "item one"),
    ("# Title", "Title"),
    ("@alice said hi", "alice said hi"),
    ("#general", "general"),
    ("TCP/IP", "TCP IP"),
    ("and/or", "and or"),
    ("e.g. this", "eg this"),
    ("Acme Inc.", "Acme Inc"),
    ('"quoted" text', "quoted text"),
    ("a+b", "a + b"),
    ("x<5", "x < 5"),
    ("<5 ms", "< 5 ms"),
    ("wait... what", "wait what"),
    ("C++-based tool", "C++ based tool"),
    ("max_retries", "max retries"),
    ("getUser", "get user"),
    ("e-mail", "email"),
    ("5% off", "5 % off"),
    ("It works – really", "It works, really"),
    ("It works -- really", "It works - really"),
    ("state: open", "state open"),
    ("The end.", "The end"),
    ("$PATH", "PATH"),
    ("I like it!", "I like it."),
    ("https://example.com/a", "example.com/a"),
)


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_signs_that_make_another_thing(a: str, b: str) -> None:
    """Operators, versions of languages, prefixes of paths and arguments, identifiers."""
    found, back = other_signs(a, b), other_signs(b, a)
    assert found is not None
    assert back is not None
    assert found.degree == back.degree


@pytest.mark.parametrize(("a", "b"), SAME)
def test_punctuation_is_no_sign(a: str, b: str) -> None:
    """Full stops, hyphens, quotes, brackets, emphasis, bullets, mentions."""
    assert other_signs(a, b) is None
    assert other_signs(b, a) is None


def test_both_write_a_sign_or_one_does() -> None:
    """Two signs contradict each other; one may have been left out."""
    assert [s and s.degree for s in (other_signs("C++", "C#"), other_signs(".NET", "NET"))] == ["conflict", "one_sided"]


@given(st.text("ab +-*/.!?<>=#@_`'()", max_size=14), st.text("ab +-*/.!?<>=#@_`'()", max_size=14))
def test_the_order_is_no_matter(a: str, b: str) -> None:
    """No text differs from itself, nor do texts without a sign differ."""
    one, two = other_signs(a, b), other_signs(b, a)
    assert (one and one.degree) == (two and two.degree)
    assert other_signs(a, a) is None
    assert one is None or may_have_signs(a) or may_have_signs(b)
