"""Audits and planners of pages and claims, registered by the entry point ``slowwave.operations`` of this package."""

from __future__ import annotations

from typing import Any, Final

from slowwave.operations.operation import Operation
from slowwave.plans.permitted import OF_CLAIMS, OF_MEMORIES, OF_PAGES, PAGE_PARTS, Permit
from slowwave.wiki.options import (
    CanonicalPagesOptions,
    ClaimOptions,
    CompilePagesOptions,
    DeepPassOptions,
    DigestOptions,
    PageHealthOptions,
)

OPERATIONS: Final[tuple[Operation[Any], ...]] = (
    Operation(
        "canonical_pages",
        "planner",
        "slowwave.wiki.operations.canonical_pages:canonical_pages",
        """Write the canonical pages of subjects from the claims about them, and update the index, hot and log pages of the wiki.

        A subject gets a page once enough claims about it hold. Text that a person wrote on a page is kept, and a block that a person edited
        is left unchanged and reported. An unchanged page is not proposed. If a subject was merged or renamed, its old page is superseded.
        """,
        reads=(
            *(
                "memories",
                "memory_versions",
                "memory_vectors",
                "claim_events",
                "entities",
                "entity_aliases",
                "conflicts",
            ),
            *("documents", "corpora", "chunks", "chunk_vectors", "links"),
        ),
        models=("recall_signals",),
        after=("compile_pages",),
        permits=(Permit("write_page", {"documents"}, beside=OF_PAGES, ends=PAGE_PARTS),),
        options=CanonicalPagesOptions,
    ),
    Operation(
        "compile_pages",
        "planner",
        "slowwave.wiki.operations.compile_pages:compile_pages",
        """Render MEMORY.md and DREAMS.md from the ledger: the promoted memories, and the actions of the nights.

        MEMORY.md includes the promotions of the same plan. A page whose inputs are unchanged is left as it is. The files are updated when
        the plan is applied; text that a person wrote around a page is kept.
        """,
        reads=("memories", "memory_versions", "promotions", "pages"),
        after=("purge_expired",),
        permits=(Permit("render_page", {"pages"}),),
        options=CompilePagesOptions,
    ),
    Operation(
        "deep_pass",
        "planner",
        "slowwave.wiki.operations.deep_pass:deep_pass",
        """Turn the changes that a model made in a scratch copy into items: versions, retired memories, claims, pages, the index.

        It runs separately, as `slowwave night NAMESPACE --deep`, weekly if it is switched on; within a night it plans
        nothing. Every change is checked against what the model was given, and no policy approves any of them.
        """,
        reads=(
            *(
                "memories",
                "memory_versions",
                "memory_vectors",
                "documents",
                "chunks",
                "chunk_vectors",
                "links",
                "corpora",
            ),
            *("entities", "entity_aliases", "entity_vectors", "pages", "promotions"),
        ),
        after=("compile_pages",),
        switch=False,
        permits=(
            Permit("new_version", {"memories"}, "medium", beside=OF_MEMORIES),
            Permit("invalidate_rows", {"memories"}, "medium", retires=1),
            Permit("write_claims", {"memories"}, "medium", beside=OF_CLAIMS),
            Permit("write_page", {"documents"}, "medium", beside=OF_PAGES, ends=PAGE_PARTS),
            Permit("render_page", {"pages"}, "medium"),
        ),
        options=DeepPassOptions,
    ),
    Operation(
        "digest_sessions",
        "planner",
        "slowwave.wiki.operations.digest_sessions:digest_sessions",
        """Write pages about sessions: a note of each session, a digest of each day, and a digest of each week that is over.

        Without a model, the sentences are the speakers' own, taken from the sessions; every sentence names its session and line. A session
        that is still active is left for a later night; one that arrives late makes a new version of the digest of its day. Private text,
        secrets and instructions to a reader are left out, and a digest that a person has edited is left unchanged.
        """,
        reads=("documents", "corpora", "chunks", "chunk_vectors", "links", "entities", "entity_aliases"),
        after=("purge_expired", "compile_pages"),
        permits=(Permit("write_page", {"documents"}, beside=OF_PAGES, ends=PAGE_PARTS),),
        options=DigestOptions,
    ),
    Operation(
        "extract_claims",
        "planner",
        "slowwave.wiki.operations.extract_claims:extract_claims",
        """Extract claims that people stated plainly in sessions and pages: preferences, decisions, states, dates and facts.

        Each claim has its quote. A claim that is known gets evidence instead. A state ends the one before it, by the time at which it was
        stated. A statement that contradicts a claim is stored next to it, and both are marked. Nothing is inferred, and a name that may
        mean several subjects yields no claim but a finding.
        """,
        reads=(
            *(
                "documents",
                "corpora",
                "chunks",
                "chunk_vectors",
                "links",
                "entities",
                "entity_aliases",
                "entity_vectors",
            ),
            *("memories", "memory_versions", "memory_vectors", "rejections"),
        ),
        after=("digest_sessions",),
        switch=False,
        weekly=True,
        permits=(Permit("write_claims", {"memories"}, beside=OF_CLAIMS, retires=None),),
        options=ClaimOptions,
    ),
    Operation(
        "import_corpus",
        "planner",
        "slowwave.wiki.operations.import_corpus:import_corpus",
        """Import pages and claims of a folder or an export, as `slowwave migrate` plans them; a night by itself proposes none.

        A folder is read when a user names it, and its contents are proposed as a separate plan.
        """,
        reads=("corpora",),
        switch=False,
        permits=(
            Permit("write_page", {"documents"}, beside=OF_PAGES, ends=PAGE_PARTS),
            Permit("write_claims", {"memories"}, beside=OF_CLAIMS, ends=PAGE_PARTS, retires=None),
        ),
    ),
    Operation(
        "page_health",
        "audit",
        "slowwave.wiki.operations.page_health:page_health",
        """List the pages that are stale, doubtful, contradictory, inconsistent, or without evidence or timeline.

        There is one list for each problem. Pages of subjects are also compared with the claims about them. A page that states neither
        visibility nor sensitivity is reported if its words belong to a sensitive class. Pages of sessions are left out. Numbers and
        findings only.
        """,
        reads=(
            *("documents", "corpora", "memories", "memory_versions", "memory_vectors", "claim_events", "conflicts"),
            *("entities", "entity_aliases"),
        ),
        after=("dead_links",),
        options=PageHealthOptions,
        columns=("list",),
    ),
    Operation(
        "promote_pages",
        "planner",
        "slowwave.wiki.operations.promote_pages:promote_pages",
        """Write a note in `inbox/distilled/` for pages that were recalled on several days and for several questions.

        The best pages come first. The note lists the questions and quotes the passages that were found. Canonical, private and sensitive
        pages, notes and generated pages get none.
        """,
        reads=("documents", "corpora", "chunks", "chunk_vectors", "links", "entities", "entity_aliases", "rejections"),
        models=("page_recalls",),
        after=("promote_memories",),
        permits=(Permit("write_page", {"documents"}, beside=OF_PAGES, ends=PAGE_PARTS),),
    ),
    Operation(
        "proposed_changes",
        "planner",
        "slowwave.wiki.operations.proposed_changes:proposed_changes",
        """Propose the pages and statements of agents: each proposal is a separate plan that needs approval by a person.

        `slowwave proposals plan NAMESPACE` seals these plans; a night does not propose anything here.
        """,
        reads=("documents", "memories"),
        switch=False,
        permits=(
            Permit("write_page", {"documents"}, risk="medium", beside=OF_PAGES, ends=PAGE_PARTS),
            Permit(
                *("forget_rows", {"documents", "memories"}, "high"),
                beside={"corpora", "documents", "chunks", "links", "claim_events"},
                retires=None,
                ends=PAGE_PARTS | {"documents"},
            ),
            Permit("forget_rows", {"erasures"}, "high"),
            Permit("write_claims", {"memories"}, risk="medium", beside=OF_CLAIMS, retires=None, ends=PAGE_PARTS),
        ),
    ),
)
