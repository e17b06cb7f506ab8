"""Learning from the answers of a review: questions that are likely yes, and rules that a person may accept as policies."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from slowwave.errors import Refused
from slowwave.matching.answers import calibrate
from slowwave.matching.compare import Traits, each_pair
from slowwave.matching.names import fold
from slowwave.matching.words import FOR, MORE, OTHER, Differences, WordInformation
from slowwave.plans.gate import disclosed_losses
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.policies import VERDICTS, Policy, QuestionKind, Verdict, accept_policy, kinds_of
from slowwave.plans.review.drafts import Draft, read_drafts
from slowwave.plans.waterfall import percent
from slowwave.store.connect import Store

# Learning from the drafts of a review which remaining questions are likely yes, which follow from answers, and which look decided.
#
# The answers correct the plan's probability of each pair of rows by a Bayesian logistic regression on the log-odds of its waterfall. It
# is linear in the weight of each piece of evidence, in the differing words (``slowwave.matching.answers``, ``slowwave.matching.words``),
# and in how much of the shorter name is contained in the longer one, which detects truncated names. Nothing of it is stored: the same
# drafts on the same plan give the same result anywhere, in any order. It never changes a person's answer.

Reals = NDArray[np.float64]

SURE: Final = 0.95
"""The probability, of yes or of no, from which questions look decided."""

LIKE: Final = 3
"""The number of equal answers, with none to the contrary, that similar questions need to look decided."""

MOST: Final = 2
"""The number of questions of a kind that may look decided for each answer of that kind.

After n equal answers, about one in n + 2 of the kind differs (rule of succession). So fewer than two wrong drafts of a kind are expected
even if its probabilities are wrong.
"""

_MARK: Final = re.compile(r"As [\d,]+ like it were answered: ")
_NATS: Final = 2.0  # of a piece of evidence that are one
_WITHIN: Final = (0.8, 0.1)  # share of a name that is no evidence, and the additional share that counts as 1
_LONGEST: Final = 400  # letters of a name that count
_ALL, _SCORE, _PART, _LETTERS, _SIGN = 1.5, 1.0, 0.5, 1.0, 2.0
"""Standard deviations of the priors, as in ``slowwave.matching.compare``."""

_SHOWN: Final = 5  # maximum number of words of a similarity that are shown


@dataclass(frozen=True, slots=True)
class LikeQuestions:
    """Open questions that look decided because similar ones were answered alike.

    ``verdict`` is the answer that they would have, ``says`` what they have in common, ``answers`` the number of equal answers, and
    ``items`` the items, the least sure first. ``says`` quotes memory, which is untrusted.
    """

    verdict: str
    operation: str
    says: str
    answers: int
    items: tuple[str, ...]

    @property
    def note(self) -> str:
        """Return the note with which their drafts are marked."""
        return f"As {self.answers:,} like it were answered: {self.says}"


@dataclass(frozen=True, slots=True)
class SessionLearning:
    """The results of learning from the answers of a review.

    ``likely`` maps items that the answers inform to the probability of yes. ``follows`` maps items to the verdict that follows from
    answers alone. ``decided`` holds questions that look decided, the largest group first.
    """

    likely: Mapping[str, float] = field(default_factory=dict[str, float])
    follows: Mapping[str, str] = field(default_factory=dict[str, str])
    decided: tuple[LikeQuestions, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whether two rows are the same, as its item holds it.

    ``level`` is that of the names. ``drafted`` states whether its draft is one of many that looked decided, which does not count as an
    ``answer``.
    """

    id: str
    operation: str
    rows: tuple[str, str]
    names: tuple[str, str]
    weights: Mapping[str, float]
    level: str
    answer: bool | None
    drafted: bool


def learn(items: Sequence[StoredItem], drafts: Mapping[str, Draft], sure: float = SURE) -> SessionLearning:
    """Learn from the answers yes and no which other questions about equal rows are likely yes, follow or look decided.

    Questions look decided if the probability of yes or of no is at least ``sure``. Drafts on which reviewers disagree are not used.
    Drafts saved because a question looked decided are not used either, because they would confirm themselves. Cost: one pass over the
    items' evidence, then a regression over some hundred traits for each operation.
    """
    asked = [a for s in sorted(items, key=lambda s: s.id) if (a := _asked(s, drafts.get(s.id))) is not None]
    follows = _follows(asked)
    likely: dict[str, float] = {}
    decided: list[LikeQuestions] = []
    by_operation: defaultdict[str, list[_Asked]] = defaultdict(list)
    for a in asked:
        by_operation[a.operation].append(a)
    for operation in sorted(by_operation):
        of = by_operation[operation]
        if sum(a.answer is not None for a in of) < ENOUGH:
            continue
        found, kinds = _judged(of)
        open_ = [n for n, a in enumerate(of) if a.answer is None and not a.drafted]
        likely |= {of[n].id: found[n] for n in open_ if of[n].id not in follows}
        decided += _decided(of, found, kinds, follows, sure)
    likely |= {id_: float(verdict == "yes") for id_, verdict in follows.items()}
    return SessionLearning(likely, follows, tuple(sorted(decided, key=lambda d: (-len(d.items), d.says, d.verdict))))


def drafted_alike(draft: Draft) -> bool:
    """Return whether a draft was saved because its question looked decided, so it is no person's answer to this question."""
    return _MARK.match(draft.note) is not None


def _asked(item: StoredItem, draft: Draft | None) -> _Asked | None:
    """Return the item as a question about two rows, or None if it asks something else."""
    if item.question != "same":
        return None
    mutation, evidence = json.loads(item.mutation), json.loads(item.evidence)
    keep = [mutation["keep"]] if mutation.get("keep") else []
    rows = sorted({str(row["id"]) for row in (*keep, *(mutation.get("absorb") or ()), *(mutation.get("rows") or ()))})
    found: Any = evidence.get("waterfall") if isinstance(evidence, Mapping) else None
    if len(rows) != 2 or not isinstance(found, list):
        return None
    steps = [s for s in found if isinstance(s, Mapping) and isinstance(s.get("weight"), int | float)]
    names: Any = evidence.get("names")
    folded_names = [fold(str(name)) for name in names] if isinstance(names, list) and len(names) == 2 else ["", ""]
    weights: defaultdict[str, float] = defaultdict(float)
    for step in steps:
        weights[str(step.get("evidence"))] += float(step["weight"])
    level = next((str(s["level"]) for s in steps if "level" in s), "")
    sure = draft is not None and draft.verdict in ("yes", "no") and not draft.against
    drafted = draft is not None and drafted_alike(draft)
    answer = draft.verdict == "yes" if draft is not None and sure and not drafted else None
    return _Asked(
        item.id, item.operation, (rows[0], rows[1]), (folded_names[0], folded_names[1]), weights, level, answer, drafted
    )


def _follows(asked: Sequence[_Asked]) -> dict[str, str]:
    """Return item → verdict of open questions that the answers settle.

    a = b and b = c imply a = c; a = b and b ≠ c imply a ≠ c. Nothing follows from a group of rows within which someone answered no,
    because one of its answers is wrong.
    """
    parent: dict[str, str] = {}

    def root(row: str) -> str:
        while parent.setdefault(row, row) != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for a in asked:
        one, other = sorted(root(row) for row in a.rows)
        if a.answer:
            parent[other] = one
    apart = {frozenset(map(root, a.rows)) for a in asked if a.answer is False}
    wrong = {next(iter(groups)) for groups in apart if len(groups) == 1}
    found: dict[str, str] = {}
    for a in asked:
        groups = frozenset(map(root, a.rows))
        if a.answer is None and not a.drafted and not groups & wrong:
            if len(groups) == 1:
                found[a.id] = "yes"
            elif groups in apart:
                found[a.id] = "no"
    return found


def _judged(of: Sequence[_Asked]) -> tuple[list[float], list[frozenset[str]]]:
    """Return the probability of yes for each question, and the signs of its words."""
    raw = np.array([sum(a.weights.values()) for a in of])
    words = WordInformation.from_texts(np.array([name for a in of for name in a.names], np.object_), slips=False)
    i = np.arange(len(of)) * 2
    differences = Differences.from_pairs(words, i, i + 1)
    signs = differences.values(words, i, i + 1)
    evidence = sorted({name for a in of for name in a.weights if name != "prior"})
    parts = np.array([[a.weights.get(name, 0.0) for name in evidence] for a in of]).reshape(len(of), -1)
    score, within = np.clip(raw, -8, 8) / (2 * _NATS), (_within(of) - _WITHIN[0]) / _WITHIN[1]
    values = np.column_stack([np.ones(len(of)), score, parts / _NATS, within, signs])
    names = ("all", "score", *evidence, "within", *differences.signs)
    deviation = np.array([_ALL, _SCORE, *[_PART] * len(evidence), _LETTERS, *[_SIGN] * len(differences.signs)])
    traits = Traits(names, values, deviation, np.zeros(len(of), bool))
    known = np.array([n for n, a in enumerate(of) if a.answer is not None], np.int64)
    correction = calibrate(raw[known], traits.take(known), np.array([bool(of[n].answer) for n in known.tolist()]))
    odds = correction.odds(raw, traits)
    word_signs = [
        frozenset(s for s, v in zip(differences.signs, row, strict=True) if v and s not in (MORE, OTHER))
        for row in signs.tolist()
    ]
    return (1 / (1 + np.exp(-odds))).tolist(), word_signs


def _within(of: Sequence[_Asked]) -> Reals:
    """Return how much of the shorter name of each question is contained in the longer one, from 0 to 1."""
    one, other = (np.array([a.names[k][:_LONGEST] for a in of], np.object_) for k in (0, 1))
    return each_pair(one, other, fuzz.partial_ratio, 0.0, np.float64) / 100


def _decided(
    of: Sequence[_Asked],
    likely: Sequence[float],
    kinds: Sequence[frozenset[str]],
    follows: Mapping[str, str],
    sure: float,
) -> list[LikeQuestions]:
    """Return the open questions beyond ``sure`` that have at least ``LIKE`` answers of their kind, all with the same verdict.

    Each kind contributes its surest questions. Together with those drafted before, there are at most ``MOST`` for each answer.
    """
    keys = [(a.level, kind) for a, kind in zip(of, kinds, strict=True)]
    answer_counts = Counter((key, a.answer) for key, a in zip(keys, of, strict=True) if a.answer is not None)
    drafted = Counter(key for key, a in zip(keys, of, strict=True) if a.drafted)
    groups: defaultdict[tuple[str, frozenset[str], str], list[tuple[float, str]]] = defaultdict(list)
    for a, p, key in zip(of, likely, keys, strict=True):
        verdict = "yes" if p >= sure else "no" if p <= 1 - sure else ""
        enough = answer_counts[key, verdict == "yes"] >= LIKE and not answer_counts[key, verdict == "no"]
        if a.answer is None and not a.drafted and verdict and enough and a.id not in follows:
            groups[*key, verdict].append((abs(p - 0.5), a.id))
    decided: list[LikeQuestions] = []
    for (level, kind, verdict), found in groups.items():
        answers = answer_counts[(level, kind), verdict == "yes"]
        left = max(0, MOST * answers - drafted[level, kind])
        surest = sorted(sorted(found, key=lambda f: (-f[0], f[1]))[:left])
        if surest:
            ids = tuple(id_ for _, id_ in surest)
            decided.append(LikeQuestions(verdict, of[0].operation, _in_words(level, kind), answers, ids))
    return decided


def _in_words(level: str, signs: frozenset[str]) -> str:
    """Describe what questions of a kind have in common."""
    parts = [sign.split(" ") for sign in sorted(signs)]
    more = [p[1] for p in parts if len(p) == 2 and p[0] == MORE]
    other = [p[1] for p in parts if len(p) == 2 and p[0] == OTHER]
    swapped = [f"“{p[0]}” for “{p[2]}”" for p in parts if len(p) == 3 and p[1] == FOR]
    if swapped:
        return f"the names differ in {', '.join(swapped[:_SHOWN])}"
    if more or other:
        quoted_words = ", ".join(f"“{word}”" for word in (more or other)[:_SHOWN])
        return f"only one name says {quoted_words}" if more else f"the names differ in words such as {quoted_words}"
    return f"the names compare as {level.replace('_', ' ')}" if level else "the same evidence speaks"


# Rules from the answers of a review: kinds of questions that were answered alike, yes or no, offered to a person as a policy.
#
# Only answers that somebody gave to a single question count. Drafts saved for many questions at once, or because a question looked
# decided, would confirm the rule that made them. The precision of a rule is measured on these answers, with Wilson's bound (1927). An
# offer decides nothing: a person accepts it (``slowwave.plans.policies``), with a limit, and may revoke it.

ENOUGH: Final = 5
"""The number of answers to questions of a kind from which it is offered."""

AGREED: Final = 0.97
"""The share of equal answers that a kind needs: the precision required of merges."""


@dataclass(frozen=True, slots=True)
class LearntRule:
    """A kind of question that a person may accept as a policy.

    ``agreed`` of ``answered`` questions were answered with its verdict, at a probability from ``least`` to ``most``. ``bound`` is the
    lower bound of the share of that verdict. ``open`` are the ids of the questions that are not answered yet, the surest first.
    """

    kind: QuestionKind
    answered: int
    agreed: int
    least: float
    open: tuple[str, ...]
    verdict: Verdict = "yes"
    most: float = 1.0

    @property
    def key(self) -> str:
        """Return verdict and kind as canonical JSON; it is unique among the rules of a plan."""
        return f"{self.verdict} {self.kind.key}"

    @property
    def bound(self) -> float:
        """Return Wilson's lower bound of the share of its verdict, from 0 to 1."""
        return wilson(self.agreed, self.answered)

    @property
    def per_night(self) -> int:
        """Return the proposed limit: at the bound, less than one wrong decision a night is expected."""
        return max(1, int(1 / (1 - self.bound)))

    def sentence(self) -> str:
        """Describe the rule in words. The text names columns, which are untrusted."""
        many = f"{self.agreed:,} of {self.answered:,} answered {self.verdict} (at least {percent(self.bound)} are, at 95 % confidence)"
        left = f"{len(self.open):,} more of them {'waits' if len(self.open) == 1 else 'wait'} here"
        return f"{self.kind.sentence()}: {many}, {left}"

    def to_json(self) -> dict[str, object]:
        """Return the rule as ``plans review --json`` shows it."""
        more = {"says": self.kind.sentence(), "bound": round(self.bound, 4), "per_night": self.per_night}
        return {**asdict(self), "key": self.key, **more}


def learnt_rules(plan: StoredPlan, drafts: Mapping[str, Draft], policies: Sequence[Policy] = ()) -> list[LearntRule]:
    """Return the kinds that may be accepted by the drafts of a plan, those with most answers first.

    Kinds of ``policies`` that are still active are left out. A question that would lose a value, or on which reviewers disagree, counts
    neither as answered nor as open. Cost: one pass over the evidence of every question whether rows are the same.
    """
    known: list[tuple[Verdict, Mapping[str, object]]] = [(p.verdict, dict(p.kind)) for p in policies if p.stands]
    return rules_of(plan.items, drafts, {row for row, _ in disclosed_losses(plan)}, known)


def rules_of(
    items: Sequence[StoredItem],
    drafts: Mapping[str, Draft],
    losing: Collection[str] = (),
    known: Sequence[tuple[Verdict, Mapping[str, object]]] = (),
) -> list[LearntRule]:
    """Return the kinds that may be accepted by the drafts of ``items``.

    ``losing`` are rows that would lose a value; ``known`` are the verdicts and kinds that are accepted already. A rule for yes reaches
    down to the least likely answer above which enough are yes, and a rule for no up to the likeliest below which enough are no. Of rules
    that rest on the same answers, only the narrowest of those with most answers is offered, and none if that one is accepted already.
    """
    lost = frozenset(losing)
    at_once = Counter((d.reviewer, d.recorded_at) for d in drafts.values())
    draft_answers: defaultdict[tuple[Verdict, QuestionKind], list[_Answer]] = defaultdict(list)
    left: defaultdict[tuple[Verdict, QuestionKind], list[tuple[float, str]]] = defaultdict(list)
    for item in items:
        if item.status != "pending" or item.question != "same":
            continue
        kinds: list[tuple[Verdict, QuestionKind]] = [
            (verdict, kind) for verdict in VERDICTS for kind in kinds_of(item, verdict)
        ]
        if not kinds or (lost and not lost.isdisjoint(item.item.mutation.row_ids())):
            continue
        draft = drafts.get(item.id)
        for verdict, kind in kinds:
            sure = item.probability if verdict == "yes" else 1 - item.probability
            if draft is None or draft.verdict == "skip":
                left[verdict, kind].append((sure, item.id))
            elif not draft.against and not drafted_alike(draft) and at_once[draft.reviewer, draft.recorded_at] == 1:
                draft_answers[verdict, kind].append(_Answer(sure, item.probability, item.id, draft.verdict == verdict))
    found: list[tuple[LearntRule, frozenset[str]]] = []
    for (verdict, kind), answers in draft_answers.items():
        if answers := _reaching(answers):
            sure, end = answers[-1].sure, answers[-1].probability
            waiting = tuple(id_ for p, id_ in sorted(left[verdict, kind], key=lambda w: (-w[0], w[1])) if p >= sure)
            least, most = (end, 1.0) if verdict == "yes" else (0.0, end)
            agreed = sum(a.agrees for a in answers)
            rule = LearntRule(kind, len(answers), agreed, least, waiting, verdict, most)
            found.append((rule, frozenset(a.id for a in answers)))
    kept: list[tuple[LearntRule, frozenset[str]]] = []
    for rule, of in sorted(found, key=lambda f: (-f[0].answered, -len(f[0].kind.equal + f[0].kind.differ), f[0].key)):
        if not any(rule.verdict == wider.verdict and of <= these for wider, these in kept):
            kept.append((rule, of))
    return [rule for rule, _ in kept if (rule.verdict, rule.kind.to_json()) not in known]


class _Answer(NamedTuple):
    """One answer as a rule counts it: ``sure`` is the probability of the rule's verdict, ``agrees`` whether it was given."""

    sure: float
    probability: float
    id: str
    agrees: bool


def _reaching(answers: Sequence[_Answer]) -> list[_Answer]:
    """Return the surest answers to a kind, as many as agree in a share of at least ``AGREED``.

    Empty if that is fewer than ``ENOUGH``. Answers that are equally sure are included together or not at all, and the last one agrees.
    """
    by_chance = sorted(answers, key=lambda a: (-a.sure, a.agrees))
    agreed, reach = 0, 0
    for n, answer in enumerate(by_chance, start=1):
        agreed += answer.agrees
        ends = n == len(by_chance) or by_chance[n].sure < answer.sure
        if answer.agrees and ends and n >= ENOUGH and agreed >= AGREED * n:
            reach = n
    return by_chance[:reach]


def accept_rule(store: Store, plan: StoredPlan, key: str, *, accepted_by: str, per_night: int | None = None) -> Policy:
    """Accept the rule with this key, as the drafts support it now.

    Without ``per_night``, the proposed limit applies. Raises ``Refused`` if the answers no longer support the rule.
    """
    rules = learnt_rules(plan, read_drafts(store, plan.header.namespace, plan.plan_hash))
    rule = next((r for r in rules if r.key == key), None)
    if rule is None:
        raise Refused("The answers do not bear this rule out any more: look again. Nothing was accepted.")
    return accept_policy(
        *(store, plan, rule.kind),
        answered=rule.answered,
        agreed=rule.agreed,
        verdict=rule.verdict,
        least=rule.least,
        most=rule.most,
        per_night=rule.per_night if per_night is None else per_night,
        accepted_by=accepted_by,
    )


def wilson(agreed: int, answered: int) -> float:
    """Return the lower bound of Wilson's 95 % interval (1927) for a share; 0 if nothing was answered."""
    from scipy.stats import binomtest  # heavy to load, and only an offer needs it

    return float(binomtest(agreed, answered).proportion_ci(method="wilson").low) if answered else 0.0
