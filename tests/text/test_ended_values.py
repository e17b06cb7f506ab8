"""What texts say is over, and which earlier statements end with it."""

from __future__ import annotations

import pytest

from slowwave.text.ended_values import ended_values, ends


def over(text: str) -> set[str]:
    return {" ".join(value.words) for value in ended_values(text)}


def is_over(earlier: str, later: str) -> bool:
    return any(ends(earlier, value) for value in ended_values(later))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I switched banks, from Triodos to Nordea.", "triodos"),
        ("The landlord raised the rent from 840 euros to 910 euros.", "840 euros"),
        ("These days it's chai instead of espresso.", "espresso"),
        ("We replaced the Fiat Panda with a bicycle.", "fiat panda"),
        ("I no longer eat meat.", "meat"),
        ("The customer no longer pays in dollars but in euros.", "dollars"),
        ("Nora is no longer vegetarian.", "vegetarian"),
        ("I don't use Evernote any more.", "evernote"),
        ("Our standup is at ten, not at nine.", "nine"),
        ("Jenkins has been switched off, all jobs run elsewhere.", "jenkins"),
        ("Petra left, Jonas leads the team now.", "petra"),
        ("The cactus on my desk died, I have a jasmine there now.", "cactus"),
        ("I gave up the cello and play the oboe now.", "cello"),
        ("Percival gave up squash for cycling.", "squash"),
        ("I've given up coffee.", "coffee"),
        ("Forget the tent, I'd like a hammock for my birthday.", "tent"),
        ("Jo got rid of the diesel van.", "diesel van"),
        ("Alma had her last day at Sunnyside.", "sunnyside"),
        ("The doctor took me off lisinopril, because of a cough.", "lisinopril"),
        ("Hartmann has gone bankrupt, we buy elsewhere.", "hartmann"),
        ("The old pier was torn down in June.", "old pier"),
    ],
)
def test_markers_before_and_behind_a_value_end_it(text: str, value: str) -> None:
    """By themselves, or beside a word of change."""
    assert value in over(text)


@pytest.mark.parametrize(
    "text",
    [
        "I left the office at five.",
        "She sold tickets at the door.",
        "I closed the window.",
        "We work from nine to five.",
        "Did you switch from Triodos to Nordea?",
        "I might switch from Triodos to Nordea.",
        "Somebody claims that Jenkins has been switched off.",
        "I would rather have tea.",
        "The cat is not insured for operations.",
        "I gave up sugar for Lent.",
        "We stopped the newspaper for two weeks.",
        "She gave up on him.",
        "Okay, the chat is over.",
        "Today's yoga class has been cancelled.",
        "Don't forget the milk.",
        "The plane took off late.",
        "It was our last day at the beach.",
    ],
)
def test_everyday_words_questions_plans_and_hearsay_end_nothing(text: str) -> None:
    """Rooms are left and windows closed every day."""
    assert over(text) == set()


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("My flat is in Leeds.", "I've left Leeds and settled in Porto."),
        ("I bank with Triodos.", "I switched banks, from Triodos to Nordea."),
        ("I've been learning the cello.", "I gave up the cello and play the oboe now."),
        ("Good morning! I drive a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."),
        ("Do you like cars? I drive a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."),
        ("Nora works for Halden Freight.", "Nora left Halden Freight and works for Opal Glass now."),
        ("My friend Nora has a house in Linz.", "Nora moved from Linz to Graz."),
        ("My rent is 840 euros a month.", "The landlord raised the rent from 840 euros to 910 euros."),
        ("Petra leads my team.", "Petra left, Jonas leads the team now."),
        ("I go to yoga in the park.", "I gave up yoga."),
        ("I'm a member of the gym Stride Club.", "I cancelled Stride Club and joined Core House."),
        ("Percival is into squash.", "Percival gave up squash for cycling."),
        ("For my birthday I want a tent.", "I'd like a hammock instead of a tent for my birthday."),
        ("On Tuesdays Benny has his piano lesson.", "Benny's piano lesson was moved from Tuesdays to Fridays."),
    ],
)
def test_a_plain_statement_of_the_value_ends(earlier: str, later: str) -> None:
    """In whatever words; greetings beside it say nothing."""
    assert is_over(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Nina works for Halden Freight.", "Nora left Halden Freight and works for Opal Glass now."),
        ("My sister plays the cello.", "I gave up the cello and play the oboe now."),
        ("I visited my aunt in Leeds.", "I've left Leeds and settled in Porto."),
        ("Is my flat in Leeds big enough?", "I've left Leeds and settled in Porto."),
        ("I want to move to Leeds.", "I've left Leeds and settled in Porto."),
        ("I work for Triodos.", "I want a job at Nordea rather than Triodos."),
        ("I want a Fiat Panda.", "I sold the Fiat Panda and bought a Kia Niro."),
        ("I take sugar in my tea.", "I gave up sugar for a month."),
        ("There are green tiles in the guest bathroom.", "The green tiles in the master bathroom are gone."),
        ("My private laptop is a ThinkPad.", "At work I replaced the ThinkPad with a MacBook."),
        ("Our eldest has to be home by nine.", "The twins' curfew has gone from nine to ten."),
        ("I am back to chat with you.", "I gave up chat."),
        ("I play the cello and the oboe.", "I gave up the cello."),
        ("I play the oboe and the cello.", "I gave up the cello."),
        ("I drive a Fiat Panda (until 2026-04-01; then: “It rusts”).", "I sold the Fiat Panda and bought a Kia Niro."),
        ("Ilse belongs to the rowing club.", "Ilse went sailing with friends from the rowing club."),
        ("Ilse belongs to the rowing club.", "Ilse moved the old boats from the rowing club."),
        ("My camera is in night mode.", "My heater is no longer in night mode."),
        ("The camera is set to night mode.", "The heater was switched from night mode to day mode."),
        ("Our warehouse runs on Oracle.", "We migrated the billing from Oracle to Postgres."),
        ("I live an hour from Leeds.", "I've left Leeds and settled in Porto."),
        ("I drive a Fiat Panda. My wife takes the tram.", "I sold the Fiat Panda and bought a Kia Niro."),
        ("The library is closed on Mondays", "The library is closed on Mondays and Tuesdays from January"),
        ("The gym is closed on Sundays", "The gym is now closed on Sundays and holidays"),
    ],
)
def test_others_the_past_plans_and_longer_memories_do_not(earlier: str, later: str) -> None:
    """Another person, room, device or figure; and what a longer memory says besides would be lost with it."""
    assert not is_over(earlier, later)


@pytest.mark.slow
@pytest.mark.timeout(60)  # a pattern that goes back over the text takes far longer
def test_what_was_told_later_is_no_part_of_what_ends() -> None:
    """A mark quotes a wish, and the sentence before it is none."""
    mark = " (before 2026-10-31: “Forget a record player, I'd like a pottery course for my birthday now”)"
    later = "Forget a record player, I'd like a pottery course for my birthday now."
    for earlier in ("I hinted at a record player for my birthday", "I'd like a record player for my birthday"):
        assert is_over(f"{earlier}{mark}.", later) == is_over(f"{earlier}.", later)


@pytest.mark.parametrize(
    "piece",
    [
        "moved from a ",
        "not ",
        "instead of ",
        "no longer ",
        "a a a a a a left",
        "was a ",
        "' s ",
        "my last day at ",
        "took me off a ",
    ],
)
def test_hostile_text_costs_time_in_proportion_to_its_length(piece: str) -> None:
    """Memory text is untrusted."""
    for value in ended_values((piece * 100_000)[:200_000]):
        ends((piece * 100_000)[:200_000], value)
    for value in ended_values((piece * 100)[:499]):
        ends((piece * 100)[:499], value)
