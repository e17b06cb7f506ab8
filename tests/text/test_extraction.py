"""What the extractor takes for a name, what it leaves alone, and that hostile text cannot slow it down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowwave.text.extraction import LONGEST_NAME, extract
from slowwave.text.tokens import normalise_name, tokenise

DATA = Path(__file__).parents[2] / "../shared/data"


def found(text: str) -> dict[str, str]:
    return {mention.name: mention.entity_type for mention in extract(text)}


def test_names_are_typed_by_what_they_say_and_what_stands_around():
    """A ticket names people, firms and places; each gets its own type and multi-word names stay whole."""
    text = "Jane Smith met Dr. Lee of Acme Corp in New York. The University of Oxford's engineer Tomas Garcia of Globex Industries joined."
    assert found(text) == {
        "Jane Smith": "person",
        "Dr. Lee": "person",
        "Acme Corp": "organization",
        "New York": "location",
        "University of Oxford": "organization",
        "Tomas Garcia": "person",
        "Globex Industries": "organization",
    }


def test_what_is_written_by_a_rule_is_taken_whole():
    """Addresses, handles and code are found by their form, without the punctuation after them."""
    text = (
        "Mail jane.smith@acme.com or see https://acme.com/x?y=1. Ask @bob_42 about user_name, getUser() and ValueError "
        "in src/app/main.py; run `make test`. TKT-0001 is open on WarehouseIQ."
    )
    assert found(text) == {
        "jane.smith@acme.com": "email",
        "https://acme.com/x?y=1": "url",
        "@bob_42": "handle",
        "user_name": "code",
        "getUser()": "code",
        "ValueError": "code",
        "src/app/main.py": "code",
        "make test": "code",
        "TKT-0001": "identifier",
        "WarehouseIQ": "product",
    }


@pytest.mark.parametrize(
    "text",
    [
        "Painting is nice. Cooking calms me.",
        "However, When we met on Monday in March, I said Hello. Thanks!",
        "he and/or she went either/or",
        "",
        "   \n\t ",
        "...!!!",
    ],
)
def test_a_capital_at_the_start_of_a_sentence_is_no_name(text: str):
    """Chat is full of capitals that mean nothing; a store of them would be a store of noise."""
    assert extract(text) == ()


def test_a_sentence_start_counts_when_the_text_says_elsewhere_that_it_is_a_name():
    """Bilibili opens one sentence and stands inside another: now it is a name in both; the word before a name is cut."""
    assert [m.name for m in extract("Bilibili is fun. I watch Bilibili daily.")] == ["Bilibili", "Bilibili"]
    assert found("Bilibili is fun.") == {}
    assert found("Yesterday Jane Smith called.") == {"Jane Smith": "person"}


def test_one_name_has_one_type_in_one_text():
    """A name that introduces itself once is that person throughout."""
    mentions = extract("I met Zorblax today. Hello, my name is Zorblax. Zorblax's tea is good.")
    assert {(m.name, m.entity_type) for m in mentions} == {("Zorblax", "person")}
    assert len(mentions) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a lake, a dog, a technique and a dish are no people
        ("We walked around Lake Superior with Bellino.", {"Lake Superior": "location", "Bellino": "unknown"}),
        ("They used Gradient Descent and ate Egg Soup.", {"Gradient Descent": "unknown", "Egg Soup": "unknown"}),
        ("We climbed Mount Everest near Summer Palace.", {"Mount Everest": "location", "Summer Palace": "location"}),
        # speakers
        ("Zelda: hello\nOmar Haddad: hi there", {"Zelda": "person", "Omar Haddad": "person"}),
        ("Note: bring tea\nSummary: all is well", {}),
        # what stands around
        ("She moved to Vextor and joined Quuxly.", {"Vextor": "location", "Quuxly": "organization"}),
        ("I think Zorblax said so.", {"Zorblax": "person"}),
        # peoples, languages, abbreviations and parts of words
        ("The Italian and Tibetan guests had Sichuan-style food.", {}),
        ("Watch TV, ask the AI, send a PDF to the CFO by UTF-8.", {}),
        ("IBM and NASA answered.", {"IBM": "organization", "NASA": "organization"}),
        # headings
        ("# Goals for Weekly Planning Notes\n\nnothing else", {}),
        # code
        (
            "Use ``max_age`` and the Berlin office, not ``min_age``.",
            {"max_age": "code", "Berlin": "location", "min_age": "code"},
        ),
        ("```\nJane Smith\n```\nby Omar Haddad", {"Omar Haddad": "person"}),
        ("He wrote `This is what I said to you` there.", {}),
        ("Run `x > 3` with `0xfd`, `v1.2.0` and `do_it`, as README.md says.", {"do_it": "code", "README.md": "code"}),
        ("---\nsource_kind: note\nauthor: Xara Quux (@xq)\n---\n", {"Xara Quux": "person", "@xq": "handle"}),
        ('<img alt="Zorblax Pulls"> by Omar Haddad', {"Omar Haddad": "person"}),
        # offices, roles, demonyms with an abbreviation, shouting, units
        ("He is VP of Operations, she Governor of Texas, they Prime Ministers.", {}),
        ("It was on Indian TV. WITHOUT ANY WARRANTY OF QUALITY it has 14 GiB.", {}),
        # sentence-initial ordinary words, and the heads of headings
        ("Install Zorblax first. Removal of Quuxly Vex.", {"Zorblax": "unknown", "Quuxly Vex": "unknown"}),
        ("Meta: nothing. Apple pie is good.", {}),
        # spans: small words of a title, marks over letters, a line that goes on
        (
            "Yesterday we watched No Strings Attached and Double Dare You.",
            {"No Strings Attached": "unknown", "Double Dare You": "unknown"},
        ),
        ("They met Simo\u0301n Vexa.", {"Simo\u0301n Vexa": "unknown"}),
        (f"{'It was a long day ' * 4}with Tomas\nGarcia.", {"Tomas\nGarcia": "person"}),
        ("Tomas\nGarcia", {"Tomas": "person"}),
        # quoted titles are works where works are spoken of
        ('I read "Quiet Zorblax". A dish called "Hui Guo Rou".', {"Quiet Zorblax": "work", "Hui Guo Rou": "unknown"}),
        ('The key words "MUST NOT" and "Greater Than".', {}),
        ("In the film Australia and on the novel Vextor.", {"Australia": "work", "Vextor": "work"}),
        # a capital inside a word types nothing by itself
        ("The bands OneRepublic and EdDSA.", {"OneRepublic": "unknown", "EdDSA": "unknown"}),
        ("Open the OneRepublic app.", {"OneRepublic": "product"}),
        # what the text says that it is
        ("Marnie is a 1964 thriller film. Kai Vexa was an Irish violinist.", {"Marnie": "work", "Kai Vexa": "person"}),
        ("See [https://x.org](https://x.org/a) there.", {"https://x.org": "url", "https://x.org/a": "url"}),
        ("A session of Claude Code helps.", {"Claude Code": "unknown"}),
        ("Read `all about it`_ and `x.length ==0`. Write `:smile:`.", {}),
        (
            "Lekha Washington saw the films Tommy Boy and a Relay-compliant Zorblax.",
            {"Lekha Washington": "unknown", "Tommy Boy": "work", "Zorblax": "unknown"},
        ),
        # software whose name is no word stands anywhere; a word is software beside it
        ("Grafana was down. Docker runs Podman.", {"Grafana": "product", "Docker": "product", "Podman": "product"}),
        ("We moved from Celery to RabbitMQ and Ruff.", {"Celery": "product", "RabbitMQ": "product", "Ruff": "product"}),
        ("Today Celery is cheap, says the market.", {}),
        # what a company is in law, what governs
        ("Kettunen Oy and Fjellheim ASA signed.", {"Kettunen Oy": "organization", "Fjellheim ASA": "organization"}),
        ("The European Commission fined them.", {"European Commission": "organization"}),
        ("He moved his boat from Duisburg to Tallinn.", {"Duisburg": "location", "Tallinn": "location"}),
        # a given name before a word
        ("Then Tobias Wren sold a Jasmine Rice.", {"Tobias Wren": "person", "Jasmine Rice": "unknown"}),
        # a family name that is a word
        (
            "Lisa Park met Sarah Brown and Kung Pao.",
            {"Lisa Park": "person", "Sarah Brown": "person", "Kung Pao": "unknown"},
        ),
    ],
)
def test_a_type_is_said_by_the_text_or_by_a_list(text: str, expected: dict[str, str]):
    """What neither types is unknown; what is no name is left out."""
    assert found(text) == expected


def test_mentions_are_slices_in_order_without_overlap():
    """Whatever real chat brings: places are exact, sorted and disjoint, types lower-case, and the same every time."""
    path = DATA / "memorybank/messages.jsonl"
    if not path.exists():
        pytest.skip("the shared demo data is not beside this checkout")
    texts = [json.loads(line)["content"] for line in path.read_text().splitlines()]
    total = 0
    for text in texts:
        mentions = extract(text)
        assert mentions == extract(text)
        end = 0
        for mention in mentions:
            assert text[mention.start : mention.end] == mention.name
            assert mention.start >= end
            assert 0 < len(mention.name) <= LONGEST_NAME
            assert mention.entity_type == mention.entity_type.lower()
            end = mention.end
        total += len(mentions)
    assert total > 300
    assert found("Hi Jack, I'm your chat companion.") == {"Jack": "person"}


def test_support_tickets_yield_their_cast():
    """In a hundred tickets the people, customers and products are found under the types a reader would give."""
    path = DATA / "khora_examples/support_tickets.jsonl"
    if not path.exists():
        pytest.skip("the shared demo data is not beside this checkout")
    types: dict[str, set[str]] = {}
    for line in path.read_text().splitlines():
        for mention in extract(json.loads(line)["content"]):
            types.setdefault(mention.name, set()).add(mention.entity_type)
    for name in ("Tomas Garcia", "Priya Ramaswamy", "Sofia Chen", "Lisa Park", "Marcus Webb"):
        assert types[name] == {"person"}
    for name in ("Acme Logistics", "Globex Industries", "Soylent Corp", "Wayne Enterprises"):
        assert types[name] == {"organization"}
    for name in ("WarehouseIQ", "RouteOptimizer", "ShipmentRadar"):
        assert types[name] == {"product"}


@pytest.mark.slow
@pytest.mark.timeout(120)  # a pattern that goes back over the text takes far longer
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "A",
        "A ",
        "a_",
        "/a",
        "@a",
        "`",
        "a.b@",
        '"',
        '"A b',
        "Aa of ",
        "http://",
        "A.b",
        "a/",
        "Aa&",
        "./",
        "\n",
        "John. ",
        "AA-1",
        "<!-- ",
        "A is a ",
        ".. a\n",
    ],
)
def test_hostile_text_costs_time_in_proportion_to_its_length(piece: str):
    """Memory text is untrusted."""
    extract((piece * 200_000)[:200_000])


def test_equal_names_meet_under_one_key():
    """Case, width, spaces and outer punctuation do not make another name; emptiness never makes two names equal."""
    assert normalise_name(" “Acme  CORP.” ") == normalise_name("acme corp") == "acme corp"
    assert normalise_name("Ｓｍｉｔｈ") == "smith"
    assert normalise_name("...") != normalise_name("!!!")
    assert tokenise("Don’t re-read Jane's snake_case!") == ["don't", "re", "read", "jane", "snake_case"]
