"""Links once all pages stand: what each means, and which pages say a known name."""

from __future__ import annotations

from tests.wiki.corpus.folders import Folder


def test_links_mean_what_they_mean_in_a_vault(vault: Folder) -> None:
    """By name wherever the file lies, by alias, by path, with headings and blocks, embedded; relative Markdown links; nothing in code."""
    assert vault.links() == [
        ("Harbor.md", "wikilink", "Equipment/Crane", "Equipment/Crane.md"),
        ("Harbor.md", "wikilink", "Tide tables", "Notes/Tide tables.md"),
        ("Harbor.md", "embed", "Tide tables", "Notes/Tide tables.md"),
        ("Harbor.md", "mention", "ilse brandt", "People/Ilse Brandt.md"),
        ("Notes/Inspection.md", "wikilink", "the big one", "Equipment/Crane.md"),
        ("Notes/Inspection.md", "markdown", "../Equipment/Crane.md", "Equipment/Crane.md"),
        ("Notes/Inspection.md", "mention", "ilse b", "People/Ilse Brandt.md"),
        ("Notes/Inspection.md", "wikilink", "Missing page", None),
        ("Notes/Inspection.md", "wikilink", "Crane", "Notes/Crane.md"),
        ("Notes/Inspection.md", "markdown", "../../outside.md", None),
        ("Notes/Tide tables.md", "wikilink", "Crane", "Notes/Crane.md"),
        ("People/Ilse Brandt.md", "wikilink", "Harbor", "Harbor.md"),
        ("Self.md", "wikilink", "Self", "Self.md"),
        ("daily/2026-05-04.md", "wikilink", "Notes/Inspection", "Notes/Inspection.md"),
    ]


def test_the_vault_is_edited_by_hand_and_synced_again(vault: Folder) -> None:
    """A page is renamed: links by its old name break, links by its alias hold. A page appears: a link that was broken holds."""
    vault.move("Equipment/Crane.md", "Equipment/Gantry.md")
    vault.write("Missing page.md", "# Found\n")
    outcome = vault.sync()
    assert (outcome.moved, outcome.new, outcome.unchanged) == (1, 1, 8)
    meant = {(path, target): page for path, kind, target, page in vault.links() if kind != "mention"}
    assert meant["Notes/Inspection.md", "the big one"] == "Equipment/Gantry.md"
    assert meant["Notes/Inspection.md", "../Equipment/Crane.md"] is None
    assert meant["Notes/Inspection.md", "Missing page"] == "Missing page.md"
    assert meant["Harbor.md", "Equipment/Crane"] is None
    (vault.root / "Missing page.md").unlink()
    vault.sync()
    assert ("Notes/Inspection.md", "wikilink", "Missing page", None) in vault.links()
    versions = vault.ask("SELECT path FROM memory.documents WHERE version_of IS NOT NULL")
    assert versions == [("Equipment/Crane.md",)]


def test_a_name_that_becomes_known_is_found_in_pages_that_nobody_touched(vault: Folder) -> None:
    """dory: aliases are those of the corpus, wherever the program runs; the seed read them from its own folder and ignored them."""
    vault.write("People/Jon.md", "---\ntype: person\naliases: [the porter]\n---\n# Jon Dahl\n")
    vault.sync()
    assert ("Harbor.md", "mention", "the porter", "People/Jon.md") in vault.links()
    (vault.root / "People/Jon.md").unlink()
    vault.sync()
    assert not any(target == "the porter" for _, _, target, _ in vault.links())


def test_entities_of_the_namespace_are_known_by_their_names(vault: Folder) -> None:
    """An entity that an import made is mentioned as a page is; lint does not ask for its page."""
    with vault.store.connect("owner") as owner:
        owner.execute(
            "INSERT INTO memory.entities (id, namespace_id, entity_type, name) SELECT gen_random_uuid(), id, 'tool', 'north pier' "
            "FROM memory.namespaces"
        )
    assert vault.sync().added == {"links": 1}
    said = (
        "SELECT d.path, l.target FROM memory.links l JOIN memory.documents d ON d.id = l.document_id "
        "WHERE l.entity_id IS NOT NULL AND l.invalidated_at IS NULL"
    )
    assert vault.ask(said) == [("Harbor.md", "north pier")]
    assert vault.sync().added == {}


def test_a_name_that_many_pages_say_is_found_in_all_of_them(vault: Folder) -> None:
    """A hundred names become known at once: every page is read, and says what it said to fewer names."""
    names = [f"berth {n}" for n in range(100)]
    for n in range(5):
        vault.write(f"Log {n}.md", f"# Log {n}\n\nAt berth {n} and at berth 99.\n")
    vault.sync()
    vault.write("Berths.md", f"---\ntype: concept\naliases: {names}\n---\n# Berths\n")
    assert vault.sync().added == {"documents": 1, "chunks": 1, "chunk_vectors": 1, "links": 5}
    assert [target for path, _, target, _ in vault.links() if path.startswith("Log")] == [
        f"berth {n}" for n in range(5)
    ]


def test_a_page_that_links_to_another_does_not_mention_it_besides(vault: Folder) -> None:
    """Harbor says Ilse Brandt; once it links to her the mention ends, and comes back with the link's end."""
    text = (vault.root / "Harbor.md").read_text()
    vault.write("Harbor.md", text + "\n[[Ilse Brandt]]\n", age=60)
    vault.sync()
    kinds = [kind for path, kind, _, page in vault.links() if path == "Harbor.md" and page == "People/Ilse Brandt.md"]
    assert kinds == ["wikilink"]
    vault.write("Harbor.md", text, age=50)
    vault.sync()
    kinds = [kind for path, kind, _, page in vault.links() if path == "Harbor.md" and page == "People/Ilse Brandt.md"]
    assert kinds == ["mention"]
