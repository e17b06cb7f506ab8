"""Subjects of two statements, and whether their figures are of two cases."""

from __future__ import annotations

import pytest

from slowwave.text.subjects import are_of_others, are_other_cases, name_other_subjects


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("Ticket 220 is due on 3 May.", "Ticket 221 is due on 9 June.", True),
        ("Deploy 91 failed.", "Deploy 92 passed.", True),
        ("The 2024 census took place in May.", "The 2025 census took place in June.", True),
        ("Sales in Q3 were 4.1 million.", "Sales in Q4 were 5.2 million.", True),
        ("Weight on 3 March: 81.5 kg", "Weight on 3 April: 80.2 kg", True),
        ("Milo is allergic to cats.", "Milo's cousin is not allergic to cats.", True),
        ("Max retries of the PDF worker is 4.", "Max retries of the email worker is 6.", True),
        ("Complaint from Rosso: 2 jars.", "Complaint from Verdi: 3 jars.", True),
        ("The 3 May incident lasted 20 minutes.", "Timeout of the billing client is 5 seconds.", True),
        ("The budget of Project Ada Lind is 4 euros.", "The budget of Project Adam Roth is 5 euros.", True),
        ("The desk of Ida Holm is 40 cm high.", "The desk of Holm Bo is 50 cm high.", True),
        ("The desk of Ida Holm is 40 cm high.", "The desk of Holm Ida is 50 cm high.", False),
        ("The desk of Ida Holm is 40 cm high.", "The desk of Ida is 50 cm high.", False),
        ("db cluster: postgres 13", "The database cluster is on Postgres 16.", False),
        ("The rent is 900 euros.", "The monthly rent is 950 euros.", False),
        ("The fee cap is 30 euros.", "The fee cap was 40 euros.", False),
        ("Passwords have 8 characters.", "As of May, a password must have 14 characters.", False),
        ("Rosso's oil costs 8 euros.", "Rosso raised prices: the oil costs 9 euros.", False),
        ("3 people are in the team.", "4 people are in the team.", False),
        ("Driver 4.2.1 is installed.", "Driver 4.2.2 is installed.", False),
        ("NVIDIA driver 550.54.14 is installed.", "NVIDIA driver 550.54.15 is installed.", False),
        ("Driver 4.2.1 is installed.", "Driver 5.0.1 is installed.", True),
        ("Host 10.0.0.1 is up.", "Host 10.0.0.2 is up.", True),
        ("Section 3.2.1 is done.", "Section 3.2.2 is done.", True),
        ("Release 2.4.1 is in March.", "Release 2.4.2 is in April.", True),
        ("That server in the basement has 16 GB.", "With this week's upgrade the server is at 64 GB.", False),
    ],
)
def test_statements_of_other_things(one: str, other: str, apart: bool) -> None:
    """A number, a date or another word in its place names another thing; one word more does not."""
    assert are_of_others(one, other) is are_of_others(other, one) is apart


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("ran lint: 12 warnings", "ran lint: 9 warnings", True),
        ("Iris lost her third milk tooth.", "Iris lost her fourth milk tooth.", True),
        ("Benchmark: 500 rows in 20 ms.", "Benchmark: 5,000 rows in 0.3 s.", True),
        ("The dough needs 500 g of flour.", "The dough needs 10 g of salt.", True),
        ("The dough needs 500 g of flour.", "The dough needs 450 g of flour.", False),
        ("The office is on the third floor.", "The office is on the fourth floor.", False),
        ("The backup keeps 14 days.", "The backup keeps 30 days.", False),
        ("The keel is 4.2 m deep when empty.", "The keel is 4.6 m deep when loaded.", True),
        ("The limit is 30 seconds for reads.", "The limit is 60 seconds for writes.", True),
        ("Lunch is served at 12:00.", "Lunch for guests is served at 13:00.", True),
        ("Lunch for the watch is served at 12:00.", "The watch starts at 13:00.", True),
        ("The discount applies to the north hall.", "The discount applies to the south hall.", True),
        ("The pool is 25 m long.", "The pool is 12 m wide.", True),
        ("The train to Oslo is at 9:10.", "The train from Oslo is at 18:40.", True),
        ("The train is at 9:10 on Mondays.", "The train is at 9:40 on Tuesdays.", False),
        ("The mill is open from 9:00 to 17:00.", "The mill is open from 10:00 to 18:00.", False),
        ("The quota of the mill is 40.", "The quota of the silo is now 60.", False),  # news
        ("Ada is the head of sales.", "Ada is the director of finance.", False),  # one value
        ("Ada works for the zoo.", "Ada works for the opera house.", False),
        ("Deadline for the tender: 3 May.", "The tender has to be in by 10 May.", False),
        ("The bar opens at 18:00 on Fridays.", "The club bar closes at 23:00 in future.", True),
        ("The gate is open since 8:00.", "The gate is closed since 9:00.", False),
    ],
)
def test_figures_of_other_cases(one: str, other: str, apart: bool) -> None:
    """What was done twice, another time of several, several values at once, or another condition, purpose or measure."""
    assert are_other_cases(one, other) is are_other_cases(other, one) is apart


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("Cargo hold 2 is empty.", "Cargo hold 3 is empty.", True),
        ("Pump A delivers 40 litres.", "Pump B delivers 60 litres.", True),
        ("The line 2 runs every 10 minutes.", "The line 3 runs every 12 minutes.", True),
        ("Version 3 is our minimum.", "Version 4 is our minimum.", False),
        ("The office is on floor 2.", "The office is on floor 3.", False),
        ("Gate 4 opens at 7.", "Gate 4 opens at 8.", False),
        ("The 5 boats are in the dock.", "The 6 boats are in the dock.", False),
        ("Ada owns 5 boats in Cork.", "Ada owns 6 boats in Cork.", False),
    ],
)
def test_label_of_a_subject_names_another_thing(one: str, other: str, apart: bool) -> None:
    assert name_other_subjects(one, other) is name_other_subjects(other, one) is apart
