from typing import Any

import pytest

from experiments.core.errors import NotAllowedError
from experiments.models import Membership, Run, RunState, Study, User
from experiments.studies.services.launch import study_launch, study_plan
from workers.errors import SpecError

Block = dict[str, Any]


def launch(owner: User, *blocks: Block, **more: Any) -> Study:
    return study_launch(owner=owner, name="A study", blocks=list(blocks), **more)


def members(study: Study) -> list[int]:
    return list(Membership.objects.filter(study=study).order_by("position").values_list("run_id", flat=True))


def test_it_stores_each_run_of_the_grid_in_the_order_written(owner: User, block: Block) -> None:
    study = launch(owner, block)
    runs = [member.run for member in study.memberships.select_related("run")]
    assert [(run.spec["strategy"]["name"], run.seed) for run in runs] == [
        ("fedavg", 0),
        ("fedavg", 1),
        ("fedprox", 0),
        ("fedprox", 1),
    ]
    assert {run.state for run in runs} == {RunState.QUEUED}
    assert {run.rounds_total for run in runs} == {3}
    assert len({run.cell for run in runs}) == 2


def test_equal_runs_become_members_instead_of_copies(owner: User, stranger: User, block: Block) -> None:
    first = launch(owner, block)
    second = launch(stranger, {**block, "seeds": 3})
    assert Run.objects.count() == 6
    assert set(members(first)) < set(members(second))
    reused = Membership.objects.filter(study=second).order_by("position").values_list("reused", flat=True)
    assert list(reused) == [True, True, False, True, True, False]


def test_without_reuse_everything_is_computed_again(owner: User, block: Block) -> None:
    launch(owner, block)
    again = launch(owner, block, reuse=False)
    assert Run.objects.count() == 8
    assert not Membership.objects.filter(study=again, reused=True).exists()
    assert launch(owner, block).runs.filter(shared=False).count() == 0


def test_a_failed_run_is_not_reused(owner: User, block: Block) -> None:
    first = launch(owner, block)
    Run.objects.update(state=RunState.FAILED)
    assert not set(members(first)) & set(members(launch(owner, block)))


def test_a_run_that_is_being_cancelled_is_wanted_again(owner: User, block: Block) -> None:
    launch(owner, block)
    Run.objects.update(cancel_requested=True)
    launch(owner, block)
    assert not Run.objects.filter(cancel_requested=True).exists()


def test_a_plan_counts_and_stores_nothing(owner: User, block: Block) -> None:
    launch(owner, block)
    plan = study_plan(owner=owner, blocks=[{**block, "seeds": 5}])
    assert (plan.runs, plan.cells, plan.reused) == (10, 2, 4)
    alone = study_plan(owner=owner, blocks=[block], reuse=False)
    assert (alone.runs, alone.cells, alone.reused) == (4, 2, 0)
    assert Study.objects.count() == 1


def test_every_problem_is_told_and_nothing_is_stored(owner: User, block: Block) -> None:
    wrong = {**block, "strategy": [{"name": "fedprox", "mu": -1}], "clients": 0}
    with pytest.raises(SpecError) as caught:
        study_launch(owner=owner, name=" ", blocks=[wrong], priority=1000)
    assert [problem.path for problem in caught.value.errors] == [
        "blocks.0.clients",
        "blocks.0.strategy.0.mu",
        "name",
        "priority",
    ]
    assert not Study.objects.exists()
    assert not Run.objects.exists()


def test_a_grid_over_the_limit_is_refused(owner: User, block: Block, settings: Any) -> None:
    settings.MAX_RUNS = 3
    with pytest.raises(SpecError, match="The grid has 4 runs; the limit is 3"):
        launch(owner, block)


def test_nobody_has_more_runs_waiting_than_the_limit(owner: User, stranger: User, block: Block, settings: Any) -> None:
    settings.MAX_WAITING = 6
    launch(owner, block)
    with pytest.raises(SpecError, match="4 new runs and the 4 of yours that wait or run are more than the 6"):
        launch(owner, {**block, "rounds": 9})
    assert (Study.objects.count(), Run.objects.count()) == (1, 4)
    launch(stranger, {**block, "rounds": 9})


def test_runs_that_are_shared_or_done_take_no_room(owner: User, block: Block, settings: Any) -> None:
    settings.MAX_WAITING = 4
    launch(owner, block)
    launch(owner, block)
    Run.objects.update(state=RunState.DONE)
    launch(owner, {**block, "rounds": 9})
    with pytest.raises(SpecError, match="Narrow an axis"):
        study_plan(owner=owner, blocks=[{**block, "rounds": 10}])


def test_a_study_keeps_its_text_and_what_it_varies(owner: User, block: Block) -> None:
    first = launch(owner, block)
    second = launch(owner, block, source="name: x  # mine\0", parent=first)
    assert (second.source, second.parent) == ("name: x  # mine\N{REPLACEMENT CHARACTER}", first)
    first.delete()
    second.refresh_from_db()
    assert second.parent is None


def test_a_viewer_may_not_launch(viewer: User, block: Block) -> None:
    with pytest.raises(NotAllowedError):
        launch(viewer, block)


def test_shuffling_changes_the_turns_but_not_the_places(owner: User, block: Block) -> None:
    study = launch(owner, {**block, "seeds": 20}, shuffle=True)
    turns = list(study.memberships.order_by("position").values_list("turn", flat=True))
    assert sorted(turns) == list(range(40))
    assert turns != list(range(40))


def test_tags_are_trimmed_and_given_once(owner: User, block: Block) -> None:
    assert launch(owner, block, tags=[" a ", "b", "a", ""]).tags == ["a", "b"]


def test_a_thousand_runs_are_stored_with_few_queries(
    owner: User, block: Block, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12):
        launch(owner, {**block, "seeds": 500})
    assert Run.objects.count() == 1000


def test_text_that_postgresql_cannot_store_is_replaced(owner: User, block: Block) -> None:
    study = study_launch(owner=owner, name="a\0b", blocks=[block], description="\ud800", tags=["\0"])
    assert (study.name, study.description, study.tags) == (
        "a\N{REPLACEMENT CHARACTER}b",
        "?",
        ["\N{REPLACEMENT CHARACTER}"],
    )
