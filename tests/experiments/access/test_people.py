import pytest

from experiments.access.services.people import ensure_admin, user_create
from experiments.models import Role, Study, User
from experiments.studies.services.tour import ensure_tour
from workers.errors import SpecError


def test_the_first_admin_gets_a_password_that_is_told_once(db: None) -> None:
    admin, password = ensure_admin(None)
    assert password
    assert len(password) >= 12
    assert (admin.username, admin.role) == ("admin", Role.ADMIN)
    assert admin.check_password(password)
    assert ensure_admin(None) == (admin, None)


def test_a_given_password_is_not_told(db: None) -> None:
    admin, password = ensure_admin("correct horse battery")
    assert password is None
    assert admin.check_password("correct horse battery")


def test_a_later_start_does_not_change_the_password(db: None) -> None:
    ensure_admin("correct horse battery")
    admin, _ = ensure_admin("another one entirely")
    assert admin.check_password("correct horse battery")


@pytest.mark.parametrize(
    ("name", "role", "password", "path"),
    [
        ("", "member", None, "username"),
        ("a b", "member", None, "username"),
        ("anna", "king", None, "role"),
        ("anna", "member", "123", "password"),
        ("anna", "member", "83104967251430", "password"),
    ],
)
def test_people_that_cannot_be_are_refused(db: None, name: str, role: str, password: str | None, path: str) -> None:
    with pytest.raises(SpecError) as caught:
        user_create(name=name, role=role, password=password)
    assert {problem.path for problem in caught.value.errors} == {path}
    assert not User.objects.exists()


def test_a_name_is_given_once(db: None) -> None:
    user_create(name="anna")
    with pytest.raises(SpecError, match="already exists"):
        user_create(name="anna")


def test_the_tour_is_queued_once_with_twelve_runs(admin: User) -> None:
    assert ensure_tour(admin) is True
    assert ensure_tour(admin) is False
    study = Study.objects.get()
    assert (study.name, study.origin, study.owner) == ("Tour: FedAvg and FedProx on digits", "tour", admin)
    assert study.runs.count() == 12
    assert study.runs.values("cell").distinct().count() == 4
    assert study.description.startswith("Welcome to Tributary.")
