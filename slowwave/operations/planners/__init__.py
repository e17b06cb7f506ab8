"""Planners: each reads a snapshot and proposes items; none writes anything.

Each planner is one module with a function of its name. ``OPERATIONS`` declares them without importing them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from slowwave.matching.options import DedupeEntitiesOptions, RecomputeCentroidsOptions
from slowwave.operations.operation import FIRST, MEMORIES, Compares, Operation
from slowwave.operations.options import (
    ArchiveStaleOptions,
    BackfillTagsOptions,
    CommunitySummariesOptions,
    ConsolidateClustersOptions,
    DecayTransitionOptions,
    DedupeMemoriesOptions,
    GcReferencesOptions,
    NormalizeSchemaOptions,
    PrivacyOptions,
    PromoteMemoriesOptions,
    PruneEdgesOptions,
    PurgeExpiredOptions,
    RedactOrQuarantineOptions,
    ReembedOptions,
    ResolveConflictsOptions,
    WeeklyReflectionsOptions,
)
from slowwave.plans.permitted import OF_ENTITIES, OF_MEMORIES, Permit

OPERATIONS: Final[tuple[Operation[Any], ...]] = (
    Operation(
        "absolutize_dates",
        "planner",
        "slowwave.operations.planners.absolutize_dates:absolutize_dates",
        """Propose to write relative dates out as ISO dates, as meant on the day of recording in the author's time zone.

        The new text is a new version; the former one stays on record. Dates whose direction depends on the verb ("on Friday") become
        questions. Quotations, code, addresses and titles are never changed, nor questions that state nothing ("How are you today?"), and a
        pinned memory is only reported.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "rejections"),
        after=("gc_references",),
        permits=(Permit("new_version", {"memories"}, beside=OF_MEMORIES),),
        planted=("relative dates",),
    ),
    Operation(
        "accept_external_edits",
        "planner",
        "slowwave.operations.planners.accept_external_edits:accept_external_edits",
        """Propose to mark memories that an outside dreamer rewrote as seen, and to renew the vectors of their texts.

        The dreamer's reports are counted once. A memory was rewritten if its attribute `dreamed_at` is set and `dreamed_processed` is not.
        No text is changed.
        """,
        reads=("memories", "memory_versions", "memory_vectors"),
        after=("redact_or_quarantine",),
        permits=(
            Permit("set_attributes", {"memories"}, only={"attributes"}),
            Permit("set_vector", {"memory_vectors"}),
        ),
    ),
    Operation(
        "archive_small_talk",
        "planner",
        "slowwave.operations.planners.archive_small_talk:archive_small_talk",
        """Propose to archive greetings, thanks, courtesies and empty questions: they leave recall and stay in the store.

        A person must agree first. Only memories of what was said qualify, and only if no sentence states anything, by a closed list of
        words: no name, no figure, no denial, nothing that people say about themselves. Memories that are pinned, were selected by an agent,
        are promoted or are in an open conflict never qualify.
        """,
        reads=("memories", "memory_versions", "promotions", "conflicts", "rejections"),
        models=("recall_signals",),
        after=("supersede_facts",),
        english=True,
        permits=(Permit("set_state", {"memories"}, only={"state"}, retires=1, tidies=True),),
    ),
    Operation(
        "archive_stale",
        "planner",
        "slowwave.operations.planners.archive_stale:archive_stale",
        """Propose to archive memories that are no longer used: they leave recall and stay in the store.

        Memories that are pinned, shocks, procedural or instructions, were recalled in the window, are promoted or are in an open conflict
        are never archived. A memory that had no chance to be recalled also stays: recalls must have been logged for `min_age_hours` after
        it arrived, whatever date it carries. The operation is off by default. The audit `relevance` shows what memories are worth.
        """,
        reads=("memories", "memory_versions", "promotions", "conflicts", "rejections", "recall_events"),
        models=("recall_signals",),
        after=("absolutize_dates",),
        permits=(Permit("set_state", {"memories"}, only={"state"}, retires=1),),
        switch=False,
        options=ArchiveStaleOptions,
    ),
    Operation(
        "backfill_privacy",
        "planner",
        "slowwave.operations.planners.backfill_privacy:backfill_privacy",
        """Propose a privacy class for memories without one, by the words of their texts.

        The classes are credentials, financial, health, legal, contact and personal. A wake block shows no memory that has a class. A class
        that was set stays. Words alone do not show whose data it is, so the operation is off by default.
        """,
        reads=("memories", "memory_versions"),
        after=("redact_or_quarantine",),
        switch=False,
        permits=(Permit("set_attributes", {"memories"}, only={"sensitivity"}),),
        options=PrivacyOptions,
    ),
    Operation(
        "backfill_tags",
        "planner",
        "slowwave.operations.planners.backfill_tags:backfill_tags",
        """Propose concept tags from subject and text for promoted memories, or for all; existing tags stay.

        A setting chooses between promoted and all memories. A text that contains a secret gets no tags.
        """,
        reads=("memories", "memory_versions", "promotions", "rejections"),
        models=("recall_signals", "recall_signals_compat"),
        after=("promote_memories",),
        english=True,
        permits=(Permit("set_attributes", {"memories"}, only={"tags"}),),
        options=BackfillTagsOptions,
    ),
    Operation(
        "community_summaries",
        "planner",
        "slowwave.operations.planners.community_summaries:community_summaries",
        """Propose a summary for each community of connected entities, with its members and their ties.

        Every sentence cites its members. A summary remains valid while its community has the same members. When they change it is
        *replaced*, and the old one stays readable as of its time. Sentences are taken from the sources, or written by
        `SLOWWAVE_OPERATIONS__COMMUNITY_SUMMARIES__MODEL`; of its sentences only those are kept that the members support.
        """,
        reads=("entities", "relationships", "communities", "conflicts", "rejections"),
        models=("live_entities", "live_relationships"),
        after=("reembed",),
        weekly=True,
        permits=(Permit("insert_summary", {"communities"}, retires=None),),
        khora=("vectorcypher_community_summary",),
        planted=("communities",),
        switch=False,
        options=CommunitySummariesOptions,
    ),
    Operation(
        "consolidate_clusters",
        "planner",
        "slowwave.operations.planners.consolidate_clusters:consolidate_clusters",
        """Propose one shorter text for memories that are similar to each other.

        Once a person agrees, the memories leave recall in favour of the summary and stay linked to it. A summary replaces only memories
        whose numbers, dates, names and negations it keeps in full; the others stay unchanged. Its sentences are taken from the sources, or
        written by `SLOWWAVE_CONSOLIDATION_MODEL` and checked against them.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
        after=("dedupe_memories",),
        english=True,
        weekly=True,
        permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
        compares=MEMORIES,
        switch=False,
        options=ConsolidateClustersOptions,
    ),
    Operation(
        "decay_transition",
        "planner",
        "slowwave.operations.planners.decay_transition:decay_transition",
        """Propose to shorten memories that have been in their decay stage for the days of that stage.

        The stages are full, compressed, summary and essence, and then the archive. The text of every stage is a version, and the older ones
        stay. Memories that are often read or confirmed take longer, failed ones less time; pinned ones, shocks, procedures and instructions
        (memory blocks, personas, lists of rules) do not decay. Content that answered past recalls is kept first; lists are shortened by
        whole items, and a text that cannot be expressed well in so few words stays as it is. Memories that `archive_stale` takes in the
        same night are left to it. A shorter text is a question, whose evidence names what it no longer states.
        """,
        reads=(
            "memories",
            "memory_versions",
            "memory_vectors",
            "promotions",
            "conflicts",
            "rejections",
            "recall_events",
        ),
        models=("recall_signals",),
        after=("backfill_tags",),
        english=True,
        weekly=True,
        permits=(
            Permit("new_version", {"memories"}, beside=OF_MEMORIES),
            Permit("set_state", {"memories"}, "medium", only={"state", "stage"}, retires=1),
        ),
        switch=False,
        options=DecayTransitionOptions,
    ),
    Operation(
        "dedupe_entities",
        "planner",
        "slowwave.operations.planners.dedupe_entities:dedupe_entities",
        """Propose to *merge* entities that are one thing under several names, or a *review* where a person should look.

        A *merge* requires that the evidence agrees. Vectors alone never cause a merge, and a pair with differing numbers, dates, versions
        or identifiers is never merged, nor one that a person rejected before. Approved, rejected and undone merges train the weights. The
        survivor gets the best of the names and its vector at once, and keeps every alias, source, counter and attribute. The plan shows the
        evidence of its weakest merges step by step.
        """,
        reads=(
            *("entities", "entity_aliases", "relationships", "chunks", "documents"),
            *("rejections", "conflicts", "decisions", "entity_vectors"),
        ),
        after=("consolidate_clusters",),
        permits=(Permit("merge_rows", {"entities"}, beside=OF_ENTITIES, retires=None, ends={"relationships"}),),
        compares=Compares("entity_vectors", "entities", alone=False),
        khora=("vectorcypher_dedupe_entities",),
        planted=("duplicates", "merge traps"),
        options=DedupeEntitiesOptions,
        searches="slowwave.operations.planners.dedupe_entities:search_candidates",
    ),
    Operation(
        "dedupe_facts",
        "planner",
        "slowwave.operations.planners.dedupe_facts:dedupe_facts",
        """Propose to merge facts that state the same in another spelling; the fact with the highest confidence stays.

        It gets the sources of all and the earliest start. Facts are the same if subject, predicate and object are equal without regard to
        case, spaces, punctuation and accents; numbers, dates and negations must be equal.
        """,
        reads=("memory_facts", "chunks", "conflicts", "rejections"),
        after=("resolve_conflicts",),
        permits=(Permit("merge_rows", {"memory_facts"}, retires=None),),
        planted=("duplicate facts",),
    ),
    Operation(
        "dedupe_memories",
        "planner",
        "slowwave.operations.planners.dedupe_memories:dedupe_memories",
        """Propose to merge memories that state the same; the survivor keeps its text and gets the tags, sources and counts.

        They must have kind, scope, subject, author and audience in common and be near the survivor, or have equal texts, which needs no
        vectors; events must also lie within the window.
        Memories that contradict each other, or differ in a number, a date or a negation, are never merged, and a pinned memory is never
        absorbed.

        Observations of the same words on three days or more are not merged: a question proposes one memory with their number and days.
        If near memories have words that the others lack, `SLOWWAVE_CONSOLIDATION_MODEL` may draft one text with all of them, as a question.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
        after=("supersede_facts",),
        permits=(
            Permit("merge_rows", {"memories"}, retires=None, tidies=True),
            Permit("insert_summary", {"memories"}, "high", beside=OF_MEMORIES, retires=None),
        ),
        compares=replace(MEMORIES, alone=False),
        khora=("cluster_events", "chronicle_event_clustering"),
        planted=("duplicate events",),
        options=DedupeMemoriesOptions,
        searches="slowwave.operations.planners.dedupe_memories:search_candidates",
    ),
    Operation(
        "gc_references",
        "planner",
        "slowwave.operations.planners.gc_references:gc_references",
        """Propose to remove dead chunk and document ids from the provenance of live rows; every live id stays.

        The audit `dead_references` shows the same rows and how much of their arrays is dead.
        """,
        reads=("entities", "relationships", "memories", "memory_facts", "chunks", "documents"),
        models=("dead_references",),
        after=("prune_edges",),
        permits=(Permit("filter_references", {"entities", "relationships", "memories", "memory_facts"}),),
        khora=("vectorcypher_source_chunk_ids_gc",),
        planted=("dead references",),
        options=GcReferencesOptions,
    ),
    Operation(
        "mark_ended_statements",
        "planner",
        "slowwave.operations.planners.mark_ended_statements:mark_ended_statements",
        """Propose to add the end date to a sentence that a later memory ends, if the rest of its memory still holds.

        A sentence that mentions what has ended, or for which another value was stated later, gets the later statement: *later*, not
        *until*, because nothing in it ends. The new text is a new version; the former one stays on record. Pinned memories are left alone.

        A memory that names an ended one as its source (`derived_from`, `source`, `sources`, `links`) is asked about: may it leave the
        searches? Until a person answers, it gets no new text or date.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "conflicts", "rejections"),
        after=("absolutize_dates",),
        english=True,
        permits=(
            Permit("new_version", {"memories"}, beside=OF_MEMORIES),
            Permit("set_state", {"memories"}, only={"state"}, retires=1),
        ),
    ),
    Operation(
        "normalize_schema",
        "planner",
        "slowwave.operations.planners.normalize_schema:normalize_schema",
        """Propose to rename types of live entities and relationships by the mappings in the settings, exactly as written.

        If a renamed entity would have the same name and type as another one, the two become one: *merge*, or *review* if their attributes
        differ. Without a mapping there is nothing to do. The audit `schema_drift` shows the types in use.
        """,
        reads=("entities", "relationships", "entity_aliases", "chunks", "documents", "conflicts", "rejections"),
        after=("recompute_centroids",),
        permits=(
            Permit("rename_type", {"entities", "relationships"}, "medium"),
            Permit("merge_rows", {"entities"}, "medium", beside=OF_ENTITIES, retires=None, ends={"relationships"}),
        ),
        khora=("vectorcypher_normalize_schema",),
        planted=("drifted types",),
        options=NormalizeSchemaOptions,
    ),
    Operation(
        "promote_memories",
        "planner",
        "slowwave.operations.planners.promote_memories:promote_memories",
        """Propose to promote memories that recall has proven on several days and with several questions, the best first.

        They move to the long-term ring. A promotion is revoked when its memory is retired or recall no longer proves it. A memory in which
        screening finds something is not promoted.
        """,
        reads=("memories", "memory_versions", "promotions", "rejections"),
        models=("recall_signals", "recall_signals_compat"),
        after=("archive_stale",),
        permits=(Permit("set_state", {"memories"}, beside={"promotions"}, only={"ring"}, ends={"promotions"}),),
        options=PromoteMemoriesOptions,
    ),
    Operation(
        "prune_edges",
        "planner",
        "slowwave.operations.planners.prune_edges:prune_edges",
        """Propose to retire weak relationships whose chunks are all gone, of the types that may be pruned.

        The only such type is `ASSOCIATED_WITH` unless others are set. *Review* asks about weak relationships that cite no chunk at all,
        that a live document supports, or that join two pinned entities. With a score threshold, it also asks about relationships whose
        weight has faded with age.
        """,
        reads=("relationships", "entities", "chunks", "documents"),
        after=("normalize_schema",),
        permits=(Permit("invalidate_rows", {"relationships"}, retires=1),),
        khora=("vectorcypher_prune_edges",),
        planted=("weak edges",),
        options=PruneEdgesOptions,
    ),
    Operation(
        "purge_expired",
        "planner",
        "slowwave.operations.planners.purge_expired:purge_expired",
        """Propose to delete rows that were retired longer ago than the retention period.

        This is the only operation that deletes, and it is off by default. It never deletes a row that a live row names or that is pinned,
        or one that was retired within seven days, and no policy approves it. The plan and the journal hold every row in full, so undo
        restores it. The change that retired a row cannot be undone before the deletion is undone.
        """,
        reads=(
            *("memory_facts", "relationships", "memories", "memory_versions", "promotions", "communities"),
            *("entities", "pages", "conflicts", "memory_vectors"),
        ),
        after=("community_summaries",),
        permits=(
            Permit(
                "purge_rows",
                {"memory_facts", "relationships", "memories", "communities"},
                "high",
                beside=OF_MEMORIES | {"promotions"},
                retires=None,
                deletes=True,
            ),
        ),
        khora=("compact_facts", "chronicle_fact_compaction"),
        planted=("expired rows",),
        switch=False,
        options=PurgeExpiredOptions,
    ),
    Operation(
        "recompute_centroids",
        "planner",
        "slowwave.operations.planners.recompute_centroids:recompute_centroids",
        """Propose a vector of the text for live entities without one; a similarity search does not find them until then.

        A merge computes and carries its own vector: see `dedupe_entities`.
        """,
        reads=("entities", "entity_vectors"),
        after=("dedupe_entities",),
        permits=(Permit("set_vector", {"entity_vectors"}),),
        khora=("vectorcypher_centroid_recompute",),
        options=RecomputeCentroidsOptions,
    ),
    Operation(
        "redact_or_quarantine",
        "planner",
        "slowwave.operations.planners.redact_or_quarantine:redact_or_quarantine",
        """Propose to remove memories with a secret, an instruction to a model or hidden text from recall, or to redact them.

        A redacted memory gets a version without that passage; the setting `operations.redact_or_quarantine.policy` chooses. Only a format
        with a checksum, a credential with its issuer's prefix or hidden characters decide alone; other items are questions. Items name
        rules and positions, and quote no secret. Pinned memories are only reported; those whose attribute `screening` is `cleared` are left
        alone. A text that repeats the secret of another memory is a question too, and so is an entity whose name, aliases or description
        hold one.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "entities", "entity_aliases"),
        after=FIRST,
        permits=(
            Permit("set_state", {"memories"}, "medium", only={"state"}, retires=1),
            Permit("set_state", {"entities"}, "high", only={"state"}, retires=1),
            Permit("new_version", {"memories"}, "medium", beside=OF_MEMORIES),
        ),
        options=RedactOrQuarantineOptions,
    ),
    Operation(
        "reembed",
        "planner",
        "slowwave.operations.planners.reembed:reembed",
        """Propose vectors for memories and chunks without a vector of the namespace's model.

        A similarity search does not find them until then. Vectors that are zero or not finite are replaced. A night makes as many as
        `operations.reembed.max_per_night` allows; entities get theirs from `recompute_centroids`.
        """,
        reads=("memories", "memory_versions", "chunks", "memory_vectors", "chunk_vectors"),
        after=("decay_transition",),
        permits=(Permit("set_vector", {"memory_vectors", "chunk_vectors"}),),
        options=ReembedOptions,
    ),
    Operation(
        "resolve_conflicts",
        "planner",
        "slowwave.operations.planners.resolve_conflicts:resolve_conflicts",
        """Propose to retire the losing row of two that contradict each other; an unclear conflict becomes a *review*.

        What a person decided is applied and never asked again. Otherwise the namespace's policy decides: the newer row, the better
        supported one, the more trusted source, or two models that agree and cite their sources. The plan shows what both rows say and why.
        If two models are set, they also compare near memories that no rule settles; a change of fact that both see becomes a question.

        A memory that differs from the session or passage that it names as its source is a question as well: a date or number that is not
        stated there, a "never" that no one said, another speaker, a suggestion or a wish as a fact. With yes it ends, or takes the date
        or number of its source.
        """,
        reads=(
            *("entities", "entity_aliases", "relationships", "memory_facts", "chunks", "documents"),
            *("memories", "memory_versions", "memory_vectors", "conflicts"),
        ),
        after=("accept_external_edits",),
        english=True,
        permits=(
            Permit("invalidate_rows", {"memories", "memory_facts", "relationships"}, retires=None, waits=True),
            Permit("new_version", {"memories"}, "high", beside=OF_MEMORIES),
        ),
        compares=replace(MEMORIES, alone=False),
        khora=("vectorcypher_contradiction_reconcile",),
        planted=("conflicts to resolve",),
        options=ResolveConflictsOptions,
    ),
    Operation(
        "supersede_facts",
        "planner",
        "slowwave.operations.planners.supersede_facts:supersede_facts",
        """Propose to end facts that a later one has replaced, at the time when the later one began.

        They stay on record, because they were true at their time. Only predicates that take one object at a time qualify, which is learnt
        from the facts; the table shows what was learnt. A person is asked before a fact ends.
        """,
        reads=("memory_facts", "chunks", "conflicts"),
        after=("dedupe_facts",),
        permits=(Permit("invalidate_rows", {"memory_facts"}, "medium", retires=2),),
        planted=("superseded facts",),
    ),
    Operation(
        "topic_memories",
        "planner",
        "slowwave.operations.planners.topic_memories:topic_memories",
        """Propose one memory for what was stated about a subject and matter over time: dated, cited statements with history.

        Statements keep their words. A statement that a newer one replaced becomes history with the day of its end; statements that
        contradict each other without an order in time are not combined. Questions, greetings, thanks and offers make no topic.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "chunks", "documents", "conflicts", "rejections"),
        after=("consolidate_clusters", "absolutize_dates"),
        english=True,
        switch=False,
        permits=(Permit("insert_summary", {"memories"}, beside=OF_MEMORIES, retires=None),),
        compares=MEMORIES,
    ),
    Operation(
        "weekly_reflections",
        "planner",
        "slowwave.operations.planners.weekly_reflections:weekly_reflections",
        """Propose a short reflection on a subject's memories of a week that is over, written by the model of summaries.

        Each is a question, cites the memories that it rests on and leaves them as they are. If the memories of the week change, the next
        one replaces it; reflections of other weeks stay. If a source ends, `mark_ended_statements` asks whether the reflection may leave
        the searches. Without `SLOWWAVE_CONSOLIDATION_MODEL` none is made, and the report counts the weeks that are due.
        """,
        reads=("memories", "memory_versions", "memory_vectors", "rejections"),
        after=("consolidate_clusters", "topic_memories"),
        english=True,
        weekly=True,
        switch=False,
        permits=(Permit("insert_summary", {"memories"}, "high", beside=OF_MEMORIES, retires=1),),
        options=WeeklyReflectionsOptions,
    ),
)
