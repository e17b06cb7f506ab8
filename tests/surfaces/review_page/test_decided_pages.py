"""What looks decided is answered on a page of its own: a sample first, then all of a group, and only what the page showed."""

from __future__ import annotations

import re

import pytest

from slowwave.plans.review.drafts import NewDraft, read_drafts, save_drafts, undo_last
from slowwave.store.connect import Store
from tests.plans.review.reviews import Review, asking_alike
from tests.surfaces.review_page.conftest import ORIGIN, Browser, form_token
from tests.surfaces.review_page.test_app import Tags

pytestmark = pytest.mark.slow


def answered(review: Review, *verdicts: str) -> None:
    """The reviewer's verdicts on the first questions."""
    drafts = [NewDraft(id_, verdict) for id_, verdict in zip(sorted(review.asked), verdicts, strict=False)]  # type: ignore[arg-type]
    save_drafts(review.store, review.slug, review.hash, drafts, reviewer="mara")


def test_a_group_is_answered_at_once_after_a_look(store: Store, browser: Browser) -> None:
    review = asking_alike(store, 20)
    path = f"/plans/{review.hash}"
    assert "Nothing looks decided yet." in browser.get(f"{path}/decided").text
    assert browser.get(f"{path}/drafts").json()["look_decided"] == 0
    answered(review, *["yes"] * 6)
    assert browser.get(f"{path}/drafts").json()["look_decided"] == 12
    assert re.search(r'id="decided-count">12<', browser.get(path).text)
    shown = browser.get(f"{path}/decided").text
    assert "12 look decided: yes" in shown
    words = re.sub(r"<[^>]+>", "", shown)
    assert "only one name says “windows”; 6 were answered so" in words
    assert words.count("is merged into") == 10
    (known_by,) = [a["value"] for a in Tags(shown).all("input") if a.get("name") == "known_by"]
    form = {"form_token": form_token(shown), "known_by": str(known_by)}
    there = browser.post(f"{path}/decided", data=form, headers={"origin": ORIGIN})
    assert (there.status_code, there.headers["location"]) == (303, browser.address + path)
    drafts = read_drafts(store, review.slug, review.hash)
    assert len(drafts) == 18
    assert sum("like it were answered" in draft.note for draft in drafts.values()) == 12
    assert set(review.statuses().values()) == {"pending"}
    again = browser.post(f"{path}/decided", data=form, headers={"origin": ORIGIN})
    assert (again.status_code, "Other questions look decided now" in again.text) == (409, True)
    assert len(undo_last(store, review.slug, review.hash, reviewer="mara")) == 12


def test_an_answer_meanwhile_means_a_look_again(store: Store, browser: Browser) -> None:
    """A group whose items are others than the page showed is not answered, though it has as many."""
    review = asking_alike(store, 20)
    path = f"/plans/{review.hash}"
    answered(review, *["yes"] * 6)
    shown = browser.get(f"{path}/decided").text
    (known_by,) = [a["value"] for a in Tags(shown).all("input") if a.get("name") == "known_by"]
    answered(review, *["none"] * 6)
    others = sorted(review.asked)[6:12]
    save_drafts(store, review.slug, review.hash, [NewDraft(id_, "yes") for id_ in others], reviewer="mara")
    form = {"form_token": form_token(shown), "known_by": str(known_by)}
    assert browser.get(f"{path}/drafts").json()["look_decided"] == 12
    assert browser.post(f"{path}/decided", data=form, headers={"origin": ORIGIN}).status_code == 409
    assert len(read_drafts(store, review.slug, review.hash)) == 6
