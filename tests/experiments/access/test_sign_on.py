"""Logging in with a real OpenID Connect provider, which is started here and asked over HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from config.sign_on import SignOn
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from experiments.access import provider as provider_module
from experiments.access.services.people import user_set_active
from experiments.access.services.sign_on import sign_on_person
from experiments.access.services.tokens import token_authenticate, token_create
from experiments.core.errors import ConflictError
from experiments.models import AuditEntry, ProviderAccount, User
from tests.experiments.access.oidc_provider import Provider, run_provider

pytestmark = [
    pytest.mark.django_db,
    # The provider uses names that Authlib is about to drop.
    pytest.mark.filterwarnings("ignore::authlib.deprecate.AuthlibDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning"),
]
RETURN = "http://testserver/log-in/sign-on/return"
SECRET = "the secret of this platform"
ROLES = {"students": "viewer", "lab": "member", "lab-admins": "admin"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with run_provider() as running:
        yield running


@pytest.fixture
def configure(provider: Provider, settings: Any) -> Iterator[Callable[..., SignOn]]:
    def set_sign_on(**changes: Any) -> SignOn:
        given = {"client_id": "tributary", "client_secret": SECRET, "name": "Uni", "group_roles": ROLES}
        settings.SIGN_ON = SignOn(**{"issuer": provider.issuer, **given, **changes})
        return settings.SIGN_ON

    provider.token_requests.clear()
    provider.forge, provider.keys = None, []
    provider_module.provider_client.cache_clear()
    set_sign_on()
    yield set_sign_on
    provider_module.provider_client.cache_clear()


@pytest.fixture
def come(provider: Provider, configure: Any, client: Client) -> Callable[..., Any]:
    """A person logs in at the provider with these claims, and their browser comes back with the answer."""

    def log_in(subject: str, browser: Client | None = None, to: str = "", **claims: Any) -> Any:
        provider.set_person(subject, claims)
        visitor = browser or Client()
        begin = visitor.get("/log-in/sign-on", {"next": to})
        return visitor.get(provider.log_in(begin.headers["Location"], subject))

    return log_in


def audit_rows(**filters: Any) -> list[tuple[str, str, str]]:
    entries = AuditEntry.objects.filter(**filters).order_by("pk")
    return [(entry.actor_name, entry.action, entry.subject) for entry in entries]


def test_a_member_of_the_lab_logs_in_and_is_known_afterwards(come: Any, provider: Provider) -> None:
    browser = Client()
    answer = come("u-1", browser, to="/studies", preferred_username="mira", email="mira@uni.org", groups=["lab", "x"])
    assert (answer.status_code, answer.headers["Location"]) == (302, "/studies")
    assert browser.get("/studies").status_code == 200
    person = User.objects.get(username="mira")
    assert (person.role, person.email, person.has_usable_password()) == ("member", "mira@uni.org", False)
    (account,) = person.provider_accounts.all()
    assert (account.issuer, account.subject) == (provider.issuer, "u-1")
    assert audit_rows() == [("", "user.sign-on", "user mira"), ("mira", "log-in", "mira")]
    detail = AuditEntry.objects.get(action="log-in").detail
    assert detail == {"address": "127.0.0.1", "by": "sign-on", "issuer": provider.issuer}
    # Twelve hours: then the provider is asked again.
    assert 43_000 < browser.session.get_expiry_age() <= 43_200


def test_the_request_has_pkce_state_and_nonce_and_the_code_is_redeemed_with_the_verifier(
    provider: Provider, configure: Any, client: Client
) -> None:
    address = urlsplit(client.get("/log-in/sign-on").headers["Location"])
    asked = {name: value for name, (value,) in parse_qs(address.query).items()}
    assert (asked["response_type"], asked["client_id"], asked["redirect_uri"]) == ("code", "tributary", RETURN)
    assert (asked["scope"], asked["code_challenge_method"]) == ("openid profile email", "S256")
    assert len(asked["state"]) >= 20
    assert len(asked["nonce"]) >= 20
    provider.set_person("u-2", {"preferred_username": "pia", "groups": ["lab"]})
    assert client.get(provider.log_in(address.geturl(), "u-2")).status_code == 302
    (redeemed,) = provider.token_requests
    challenge = base64.urlsafe_b64encode(hashlib.sha256(redeemed["code_verifier"].encode()).digest()).rstrip(b"=")
    assert challenge.decode() == asked["code_challenge"]


def test_a_person_is_found_by_subject_not_by_name_or_e_mail(come: Any) -> None:
    come("u-3", preferred_username="ada", email="ada@uni.org", groups=["lab"])
    come("u-3", preferred_username="ada.byron", email="byron@uni.org", groups=["lab"])
    come("u-4", preferred_username="ada", email="ada@uni.org", groups=["students"])
    people = ProviderAccount.objects.order_by("subject").values_list("subject", "person__username", "person__role")
    assert list(people) == [("u-3", "ada", "member"), ("u-4", "ada-2", "viewer")]


def test_an_account_of_the_lab_is_not_given_to_whoever_has_its_name_elsewhere(
    come: Any, owner: User, configure: Any
) -> None:
    answer = come("u-5", preferred_username="Owner", groups=["lab-admins"])
    assert answer.status_code == 403
    assert "manage.py connect owner u-5" in answer.content.decode()
    assert not ProviderAccount.objects.exists()
    call_command("connect", "owner", "u-5")
    assert come("u-5", preferred_username="Owner", groups=["lab-admins"]).status_code == 302
    owner.refresh_from_db()
    assert owner.role == "admin"
    with pytest.raises(CommandError, match="There is no user nemo"):
        call_command("connect", "nemo", "u-5")


def test_the_highest_group_counts_and_one_that_is_taken_away_takes_the_role_away(come: Any, admin: User) -> None:
    roles = []
    for groups in (["students"], ["students", "lab-admins", "lab"], ["lab"], ["students"]):
        come("u-6", preferred_username="nora", groups=groups)
        roles.append(User.objects.get(username="nora").role)
    assert roles == ["viewer", "admin", "member", "viewer"]
    assert audit_rows(action="user.role") == [("", "user.role", "user nora")] * 3


def test_who_has_no_group_left_is_refused_and_their_browsers_and_tokens_end(come: Any) -> None:
    first = Client()
    come("u-7", first, preferred_username="otto", groups=["lab"])
    otto = User.objects.get(username="otto")
    _, secret = token_create(owner=otto, name="Script")
    answer = come("u-7", preferred_username="otto", groups=["chess club"])
    assert answer.status_code == 403
    assert "none of its groups that may use this lab" in answer.content.decode()
    assert first.get("/studies").status_code == 302
    assert token_authenticate(secret) is None
    refusal = AuditEntry.objects.get(action="log-in.refused")
    assert (refusal.actor_name, refusal.subject, refusal.detail["provider_subject"]) == ("otto", "otto", "u-7")
    # With a group again they come back by themselves: nobody here had shut them out.
    assert come("u-7", preferred_username="otto", groups=["students"]).status_code == 302
    otto.refresh_from_db()
    assert (otto.is_active, otto.role) == (True, "viewer")


def test_who_was_disabled_here_stays_out_whatever_the_provider_says(come: Any, admin: User) -> None:
    come("u-8", preferred_username="paul", groups=["lab"])
    user_set_active(user=User.objects.get(username="paul"), active=False, actor=admin)
    browser = Client()
    for groups in (["lab"], [], ["lab-admins"]):
        assert come("u-8", browser, preferred_username="paul", groups=groups).status_code == 403
    assert browser.get("/studies").status_code == 302
    assert User.objects.get(username="paul").is_active is False


def test_strangers_of_the_provider_get_no_account(come: Any) -> None:
    assert come("u-9", preferred_username="quinn").status_code == 403
    assert not User.objects.exists()
    assert audit_rows() == [("", "log-in.refused", "quinn")]


def test_the_only_admin_stays_one_so_that_the_lab_is_not_locked_out(come: Any) -> None:
    come("u-10", preferred_username="rosa", groups=["lab-admins"])
    assert come("u-10", preferred_username="rosa", groups=["lab"]).status_code == 302
    assert come("u-10", preferred_username="rosa", groups=[]).status_code == 403
    rosa = User.objects.get(username="rosa")
    assert (rosa.role, rosa.is_active) == ("admin", True)
    assert audit_rows(action="user.role-kept") == [("", "user.role-kept", "user rosa")]


def test_without_roles_of_groups_the_default_begins_and_the_page_people_decides(configure: Any, come: Any) -> None:
    configure(group_roles={}, default_role="viewer")
    come("u-11", preferred_username="sam")
    User.objects.filter(username="sam").update(role="member")
    come("u-11", preferred_username="sam")
    assert User.objects.get(username="sam").role == "member"


@pytest.mark.parametrize(
    ("claim", "claims", "role"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["lab"]}}, "member"),
        ("https://uni.org/groups", {"https://uni.org/groups": ["lab-admins"]}, "admin"),
        ("department", {"department": "students"}, "viewer"),
    ],
)
def test_groups_are_where_the_provider_has_them(
    configure: Any, come: Any, claim: str, claims: dict[str, Any], role: str
) -> None:
    configure(groups_claim=claim)
    come("u-12", preferred_username="tess", **claims)
    assert User.objects.get(username="tess").role == role


def test_an_answer_that_was_not_asked_for_here_is_refused(provider: Provider, configure: Any) -> None:
    provider.set_person("u-13", {"preferred_username": "uma", "groups": ["lab"]})
    asked, other = Client(), Client()
    back = provider.log_in(asked.get("/log-in/sign-on").headers["Location"], "u-13")
    # Sent to another browser: of somebody who is to work in the sender's account.
    answer = other.get(back)
    assert (answer.status_code, "not begun in this browser" in answer.content.decode()) == (400, True)
    assert asked.get(back).status_code == 302
    # And once is enough.
    asked.post("/log-out")
    assert asked.get(back).status_code == 400


def test_a_token_that_was_made_for_another_log_in_is_refused(provider: Provider, configure: Any) -> None:
    """Its nonce is another one's, though signature, issuer and audience are right."""
    provider.set_person("u-14", {"preferred_username": "vera", "groups": ["lab"]})
    browser = Client()
    address = browser.get("/log-in/sign-on").headers["Location"]
    replayed = re.sub(r"nonce=[^&]+", "nonce=of-another-log-in", address)
    answer = browser.get(provider.log_in(replayed, "u-14"))
    assert (answer.status_code, "cannot be believed" in answer.content.decode()) == (400, True)
    assert not User.objects.exists()


def test_a_token_for_another_platform_is_refused(provider: Provider, configure: Any, settings: Any) -> None:
    provider.set_person("u-15", {"preferred_username": "wim", "groups": ["lab"]})
    browser = Client()
    address = browser.get("/log-in/sign-on").headers["Location"]
    back = provider.log_in(address.replace("client_id=tributary", "client_id=other"), "u-15")
    answer = browser.get(back)
    assert (answer.status_code, "no longer knows this log-in" in answer.content.decode()) == (400, True)


OWN_KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "one"}) for _ in range(2))


def signed(claims: dict[str, Any], header: dict[str, str], key: str) -> str:
    if key == "none":
        parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in (header, claims)]
        return f"{'.'.join(part.rstrip('=') for part in parts)}."
    with warnings.catch_warnings():  # a public key as a shared secret
        warnings.simplefilter("ignore")
        secret = {"secret": SECRET, "public": OWN_KEY.as_pem(private=False)}.get(key, "")
        own = {"own": OWN_KEY, "other": OTHER_KEY}.get(key) or OctKey.import_key(secret)
        return jwt.encode(header, claims, own, algorithms=["RS256", "HS256"])


RSA = {"alg": "RS256", "kid": "one"}


@pytest.mark.parametrize(
    ("header", "key", "changes", "let_in"),
    [
        (RSA, "own", {}, True),
        (RSA, "other", {}, False),
        ({"alg": "none"}, "none", {}, False),
        ({"alg": "HS256"}, "secret", {}, False),
        ({"alg": "HS256", "kid": "one"}, "public", {}, False),
        (RSA, "own", {"iss": "https://evil.example"}, False),
        (RSA, "own", {"aud": "other"}, False),
        (RSA, "own", {"aud": ["tributary", "other"], "azp": "other"}, False),
        (RSA, "own", {"exp": 1_700_000_000}, False),
        (RSA, "own", {"nonce": None}, False),
        (RSA, "own", {"sub": None}, False),
    ],
)
def test_only_a_token_that_this_provider_made_for_this_log_in_lets_somebody_in(
    come: Any, provider: Provider, header: dict[str, str], key: str, changes: dict[str, Any], let_in: bool
) -> None:
    def forge(claims: dict[str, Any]) -> str:
        told = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return signed(told, header, key)

    provider.forge, provider.keys = forge, [OWN_KEY.as_dict(private=False)]
    answer = come("u-18", preferred_username="zora", groups=["lab"])
    assert answer.status_code == (302 if let_in else 400), answer.content
    assert User.objects.filter(username="zora").exists() is let_in


def test_a_provider_that_signs_with_shared_secrets_only_is_refused(provider: Provider, configure: Any) -> None:
    client = provider_module.provider_client(provider.issuer, "tributary", SECRET, "openid profile email")
    client.load_server_metadata()["id_token_signing_alg_values_supported"] = ["HS256", "none"]
    answer = Client().get("/log-in/sign-on")
    assert (answer.status_code, "signs with no public key" in answer.content.decode()) == (502, True)


def test_new_keys_under_an_old_name_are_taken_at_the_next_try(come: Any, provider: Provider) -> None:
    for key, statuses in ((OWN_KEY, [302]), (OTHER_KEY, [400, 302])):
        provider.forge = lambda claims, key=key: jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)
        provider.keys = [key.as_dict(private=False)]
        for status in statuses:
            assert come("u-19", preferred_username="abel", groups=["lab"]).status_code == status


def test_words_in_the_address_are_not_repeated_on_the_page(configure: Any, client: Client) -> None:
    page = client.get("/log-in/sign-on/return", {"error": "Call 0123 and say your password"}).content.decode()
    assert ("The provider said no." in page, "0123" in page) == (True, False)
    page = client.get("/log-in/sign-on/return", {"error": "consent_required"}).content.decode()
    assert "The provider said no: consent_required." in page


def test_an_odd_e_mail_address_keeps_nobody_out(come: Any) -> None:
    assert come("u-20", preferred_username="bea", email="bea@intern", groups=["lab"]).status_code == 302
    assert User.objects.get(username="bea").email == ""


@pytest.mark.django_db(transaction=True)
def test_two_browsers_of_a_new_person_make_one_account(configure: Callable[..., SignOn]) -> None:
    sign_on = configure()
    claims = {"sub": "u-21", "preferred_username": "cleo", "groups": ["lab"]}

    def first_log_in(_: int) -> int:
        try:
            return sign_on_person(sign_on=sign_on, claims=claims, address="127.0.0.1").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(first_log_in, range(4)))) == 1
    assert [each.username for each in User.objects.all()] == ["cleo"]


def test_who_says_no_at_the_provider_gets_a_page_that_says_so(provider: Provider, configure: Any) -> None:
    browser = Client()
    back = provider.deny(browser.get("/log-in/sign-on?next=/queue").headers["Location"])
    answer = browser.get(back)
    assert answer.status_code == 400
    assert "The provider did not let you in, or you said no there." in answer.content.decode()
    assert 'href="/log-in/sign-on?next=/queue">Try again with Uni' in answer.content.decode()


def test_a_provider_that_is_away_or_another_one_is_told_on_a_page(configure: Any, provider: Provider) -> None:
    configure(issuer="http://127.0.0.1:1")
    answer = Client().get("/log-in/sign-on")
    assert (answer.status_code, "The provider does not answer." in answer.content.decode()) == (502, True)
    configure(issuer=provider.issuer.replace("127.0.0.1", "localhost"))
    assert Client().get("/log-in/sign-on").status_code == 302  # it answers with the name that it is called by
    provider.wrong_issuer = "https://evil.example"
    try:
        configure(client_id="another")
        answer = Client().get("/log-in/sign-on")
    finally:
        provider.wrong_issuer = ""
    assert (answer.status_code, "another provider answers" in answer.content.decode()) == (502, True)


@pytest.mark.parametrize(
    "to",
    ["//evil.example/", "https://evil.example/", "/\\evil.example", "\thttps://evil.example", "javascript:alert(1)"],
)
def test_the_way_back_leads_nowhere_else(come: Any, to: str) -> None:
    answer = come("u-16", to=to, preferred_username="xena", groups=["lab"])
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_a_form_that_was_sent_too_late_is_sent_again_after_the_provider(come: Any, provider: Provider) -> None:
    browser = Client()
    assert browser.post("/studies/1/edit", {"name": "Renamed"}).status_code == 401
    # A first try that the provider refuses loses nothing.
    browser.get(provider.deny(browser.get("/log-in/sign-on").headers["Location"]))
    page = come("u-17", browser, preferred_username="yara", groups=["lab"])
    assert (page.status_code, "Renamed" in page.content.decode()) == (200, True)


def test_strangers_fill_no_table_with_forms(configure: Any) -> None:
    browser = Client()
    noise = "".join(str(number) for number in range(100_000))
    assert browser.post("/studies/1/edit", {"name": noise}).status_code == 401
    assert not Session.objects.exists()


def test_the_log_in_page_has_the_button_and_where_passwords_are_off_nothing_else(
    configure: Any, settings: Any, client: Client, admin: User
) -> None:
    page = client.get("/log-in?next=/queue").content.decode()
    assert 'href="/log-in/sign-on?next=/queue">Log in with Uni<' in page
    assert 'name="password"' in page
    settings.PASSWORD_LOGIN = False
    page = client.get("/log-in").content.decode()
    assert ("Log in with Uni" in page, 'name="password"' in page) == (True, False)
    admin.set_password("river-and-stream")
    admin.save()
    answer = client.post("/log-in", {"username": "boss", "password": "river-and-stream"})
    assert answer.status_code == 403
    assert client.get("/studies").status_code == 302
    client.force_login(admin)
    assert client.get("/me/password").status_code == 404
    assert client.post("/people/new", {"name": "zoe", "role": "member", "how": "link"}).status_code == 422
    assert "nobody needs a password here" in client.post(f"/people/{admin.pk}/password-link").content.decode()


def test_where_passwords_are_off_the_servers_shell_still_opens_the_door_for_an_admin(
    configure: Any, settings: Any, capsys: Any, admin: User, owner: User
) -> None:
    settings.PASSWORD_LOGIN = False
    with pytest.raises(ConflictError, match="From here, an admin may"):
        call_command("passwordlink", "owner")
    call_command("passwordlink", "boss")
    address = capsys.readouterr().out.splitlines()[-1]
    browser = Client()
    form = browser.get(urlsplit(address).path)
    new = {"new_password1": "river-and-stream", "new_password2": "river-and-stream"}
    assert browser.post(form.headers["Location"], new).status_code == 302
    assert browser.get("/people").status_code == 200


def test_a_lab_without_a_provider_has_no_such_address(client: Client, settings: Any) -> None:
    settings.SIGN_ON = None
    assert client.get("/log-in/sign-on").status_code == 404
    assert client.get("/log-in/sign-on/return").status_code == 404
    assert "sign-on" not in client.get("/log-in").content.decode()
