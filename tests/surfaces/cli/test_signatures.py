"""In the terminal: a rule for two, what each command says is still needed, and the printed command as the second person runs it."""

from __future__ import annotations

import json
import re

from slowwave.store.connect import Store
from tests.nights import new_world, write_a_plan
from tests.surfaces.cli.conftest import Run


def test_mara_approves_otto_signs_and_it_is_applied(store: Store, run: Run) -> None:
    world = new_world(store)
    _, plan = write_a_plan(store, world)
    assert "One signature is enough" in run("policies", "approvals", world.slug)[1]
    code, told, _ = run("policies", "approvals", world.slug, "--needed", "2", "--by", "root", "--json")
    assert (code, json.loads(told)["signatures"]) == (0, 2)
    code, approved, _ = run("plans", "approve", world.slug, plan.plan_hash[:12], "--by", "mara")
    assert code == 0
    (command,) = re.findall(r"^ +slowwave (plans countersign .*) --by THEIR-NAME$", approved, re.MULTILINE)
    code, _, why = run("apply", world.slug)
    assert (code == 0, "Signed by mara, one more signature needed" in " ".join(why.split())) == (False, True)
    for page in (("plans", "show", world.slug), ("policies", "approvals")):
        assert "Signed by mara, one more signature needed" in " ".join(run(*page)[1].split())
    status = run("status", world.slug)[1]
    assert ("1 to approve again" in status, "countersign" in status or "plans show" in status) == (True, True)
    code, _, why = run(*command.split(), "--by", "mara")
    assert (code == 0, "somebody else" in why) == (False, True)
    code, told, _ = run(*command.split(), "--by", "otto")
    assert (code, f"slowwave apply {world.slug}" in told) == (0, True)
    assert run("apply", world.slug)[0] == 0
