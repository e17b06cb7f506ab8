"""What the answers of a review teach in words: kinds of questions that were answered alike, yes or no, offered to a person as a policy.

Only answers that somebody gave to one question alone count: what was drafted for many at once, or as it looked decided, would bear the
rule out. How right a rule is, is measured on them; its bound is Wilson's (1927). Nothing is decided by an offer: a person accepts it
(``slowwave.plans.policies``), with a limit, and may revoke it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

from slowwave.errors import Refused
from slowwave.plans.judgement import disclosed_losses
from slowwave.plans.ledger import StoredItem, StoredPlan
from slowwave.plans.policies import Policy, accept_policy
from slowwave.plans.question_kinds import VERDICTS, QuestionKind, Verdict, kinds_of
from slowwave.reports.waterfall import percent
from slowwave.review.drafts import Draft, read_drafts
from slowwave.review.learning import drafted_alike
from slowwave.store.connect import Store

ENOUGH: Final = 5
"""Answers to questions of a kind from which it is offered."""

AGREED: Final = 0.97
"""Share of them that has to be alike: the precision that merges are held to."""


@dataclass(frozen=True, slots=True)
class LearntRule:
    """A kind that may be accepted: ``agreed`` of ``answered`` questions of it were answered with its verdict, with a probability from
    ``least`` to ``most``; ``bound`` is the least share of that verdict that this leaves likely. ``open`` are the ids of those that are not
    answered yet, the surest first."""

    kind: QuestionKind
    answered: int
    agreed: int
    least: float
    open: tuple[str, ...]
    verdict: Verdict = "yes"
    most: float = 1.0

    @property
    def key(self) -> str:
        """Verdict and kind as canonical JSON; rules of a plan have different ones."""
        return f"{self.verdict} {self.kind.key}"

    @property
    def bound(self) -> float:
        """Wilson's lower bound of the share of its verdict, from 0 to 1."""
        return wilson(self.agreed, self.answered)

    @property
    def per_night(self) -> int:
        """The limit that is offered: so many that less than one wrong a night is to be expected even at the bound."""
        return max(1, int(1 / (1 - self.bound)))

    def sentence(self) -> str:
        """The offer in words. It names columns, which are untrusted."""
        many = f"{self.agreed:,} of {self.answered:,} answered {self.verdict} (at least {percent(self.bound)} are, at 95 % confidence)"
        left = f"{len(self.open):,} more of them {'waits' if len(self.open) == 1 else 'wait'} here"
        return f"{self.kind.sentence()}: {many}, {left}"

    def to_json(self) -> dict[str, object]:
        """As ``plans review --json`` shows it."""
        more = {"says": self.kind.sentence(), "bound": round(self.bound, 4), "per_night": self.per_night}
        return {**asdict(self), "key": self.key, **more}


def learnt_rules(plan: StoredPlan, drafts: Mapping[str, Draft], policies: Sequence[Policy] = ()) -> list[LearntRule]:
    """The kinds that may be accepted by the drafts of a plan, those with most answers first; without those of ``policies`` that stand.

    A question that would lose a value, or on which reviewers disagree, neither counts nor is counted as open. Cost: reads the evidence of
    every question whether rows are one thing once.
    """
    known: list[tuple[Verdict, Mapping[str, object]]] = [(p.verdict, dict(p.kind)) for p in policies if p.stands]
    return rules_of(plan.items, drafts, {row for row, _ in disclosed_losses(plan)}, known)


def rules_of(
    items: Sequence[StoredItem],
    drafts: Mapping[str, Draft],
    losing: Collection[str] = (),
    known: Sequence[tuple[Verdict, Mapping[str, object]]] = (),
) -> list[LearntRule]:
    """The same of items; ``losing`` are rows of which a value would be lost, ``known`` the verdicts and kinds that are accepted already.

    A rule of yes reaches down to the least likely answer above which enough are yes, one of no up to the likeliest below which enough are
    no. Of rules that rest on the same answers only the narrowest of those with most is offered, and none where that is accepted already.
    """
    lost = frozenset(losing)
    at_once = Counter((d.reviewer, d.recorded_at) for d in drafts.values())
    said: defaultdict[tuple[Verdict, QuestionKind], list[_Answer]] = defaultdict(list)
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
                said[verdict, kind].append(_Answer(sure, item.probability, item.id, draft.verdict == verdict))
    found: list[tuple[LearntRule, frozenset[str]]] = []
    for (verdict, kind), answers in said.items():
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
    """One answer, as a rule counts it: ``sure`` is how likely the rule's verdict was, ``agrees`` whether it was given."""

    sure: float
    probability: float
    id: str
    agrees: bool


def _reaching(answers: Sequence[_Answer]) -> list[_Answer]:
    """Of the answers to a kind the surest, as many as agree in a share of ``AGREED``; none where that is fewer than ``ENOUGH``.

    Answers that are equally sure go in together or not at all, and the last one agrees.
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
    """Accept the rule that has this key, as the drafts bear it out now; without ``per_night`` with the limit that is offered.

    Raises ``Refused`` where the answers no longer bear it out.
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
    """The lower bound of Wilson's interval (1927) for a share, at 95 %; 0 where nothing was answered."""
    from scipy.stats import binomtest  # heavy to load, and only an offer needs it

    return float(binomtest(agreed, answered).proportion_ci(method="wilson").low) if answered else 0.0
