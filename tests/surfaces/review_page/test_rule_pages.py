"""The page of rules: offered in words, accepted in the name of who came in, revoked with a reason."""

from __future__ import annotations

import re
from html import unescape

from slowwave.plans.gate import set_rule
from slowwave.plans.review.rules import ENOUGH
from slowwave.store.connect import Store
from tests.memories import ask
from tests.plans.review.reviews import asking_of_a_kind
from tests.plans.review.test_rules import TEN, answer, likeliest
from tests.surfaces.review_page.conftest import Browser
from tests.surfaces.review_page.test_app import post


def test_a_rule_is_offered_accepted_and_revoked(store: Store, browser: Browser) -> None:
    """The page for signing leads to it; a limit that is none, and a rule that nobody offered, are refused."""
    review = asking_of_a_kind(store, 14)
    path = f"/plans/{review.hash}"
    assert "No rule yet" in browser.get(f"{path}/rules").text
    answer(review, likeliest(review)[-TEN:])
    assert f'href="{browser.address}{path}/rules"' in browser.get(f"{path}/sign").text
    offered = browser.get(f"{path}/rules").text
    assert "The names agree but for an initial, the values of email are equal" in offered
    assert "10 of 10 such questions were answered yes" in offered
    (key,) = re.findall(r'name="key" value="([^"]*)"', offered)
    wrong = ({"per_night": "many"}, {"per_night": "0"}, {"per_night": "1001"}, {"key": "{}", "per_night": "2"})
    for form in wrong:
        assert post(browser, f"{path}/rules", **{"key": unescape(key), **form}).status_code == 409
    assert post(browser, f"{path}/rules", key=unescape(key), per_night="2", accepted_by="eve").status_code == 303
    assert ask(store, "SELECT accepted_by, per_night, agreed FROM night.policies") == [("mara", 2, TEN)]
    shown = browser.get(f"{path}/rules").text
    assert ("policy of mara of" in shown, "2 a night at most" in shown, "No rule yet" in shown) == (True, True, True)
    (policy,) = re.findall(r'name="policy" value="([^"]*)"', shown)
    assert post(browser, f"{path}/rules/revoke", policy=policy, reason=" ").status_code == 409
    assert post(browser, f"{path}/rules/revoke", policy=policy, reason="two families").status_code == 303
    assert "revoked by mara: two families" in browser.get(f"{path}/rules").text


def test_a_rule_of_no_is_offered_in_words_beside_those_of_yes(store: Store, browser: Browser) -> None:
    """Each with its verdict; where two have to sign the page says that a no rejects nothing."""
    review = asking_of_a_kind(store, 14)
    path = f"/plans/{review.hash}/rules"
    answer(review, likeliest(review)[-ENOUGH:], "no")
    answer(review, likeliest(review)[:ENOUGH])
    offered = browser.get(path).text
    for verdict in ("yes", "no"):
        assert f"{verdict.capitalize()}: <bdi>The names agree but for an initial" in offered
        assert f"5 of 5 such questions were answered {verdict}" in offered
    (key,) = (found for found in re.findall(r'name="key" value="([^"]*)"', offered) if found.startswith("no "))
    assert post(browser, path, key=unescape(key), per_night="2").status_code == 303
    assert ask(store, "SELECT verdict, least, agreed FROM night.policies") == [("no", 0, ENOUGH)]
    assert ("answered no · 2 a night at most · rejected 0" in browser.get(path).text, "rejects nothing" in offered) == (
        True,
        False,
    )
    set_rule(store, review.slug, signatures=2, set_by="root")
    assert "rejects nothing" in browser.get(path).text
