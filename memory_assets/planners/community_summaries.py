"""``plan/community_summaries``."""

from memory_assets.operations import planner
from slowwave.operations import Inputs, Proposal


@planner(
    tables=("entities", "relationships", "communities", "conflicts", "rejections"),
    models=("live_entities", "live_relationships"),
)
def community_summaries(inputs: Inputs) -> Proposal:
    """Entities that hang together get a summary that says who they are and what ties them; every sentence cites its members.

    A summary stands while its community has the same members; when they change it is *replaced*, and the old one stays readable as of
    its time. Sentences are taken from the sources, or written by `SLOWWAVE_COMMUNITY_SUMMARY_MODEL`, of whose sentences only those
    stay that the members bear out.
    """
    from slowwave.planners.community_summaries import community_summaries as run

    return run(inputs)
