"""The provider's settings: what they mean, and what contradicts itself."""

from __future__ import annotations

import pytest
from config import env
from config.sign_on import SignOn, sign_on_setting

ISSUER = {"TRIBUTARY_OIDC_ISSUER": "https://id.example.org/realms/lab"}
COMPLETE = {**ISSUER, "TRIBUTARY_OIDC_CLIENT_ID": "tributary", "TRIBUTARY_OIDC_GROUP_ROLES": "lab=member"}


def test_without_an_issuer_there_is_no_sign_on() -> None:
    assert sign_on_setting({}) is None


def test_everything_that_is_set_is_read() -> None:
    environ = {
        **COMPLETE,
        "TRIBUTARY_OIDC_CLIENT_SECRET": "s3cret",
        "TRIBUTARY_OIDC_NAME": "Uni",
        "TRIBUTARY_OIDC_SCOPES": "profile groups",
        "TRIBUTARY_OIDC_GROUPS_CLAIM": "realm_access.roles",
        "TRIBUTARY_OIDC_GROUP_ROLES": "/lab/members = member, cn=admins=admin",
        "TRIBUTARY_OIDC_DEFAULT_ROLE": "viewer",
    }
    assert sign_on_setting(environ) == SignOn(
        issuer="https://id.example.org/realms/lab",
        client_id="tributary",
        client_secret="s3cret",
        name="Uni",
        scopes="openid profile groups",
        groups_claim="realm_access.roles",
        group_roles={"/lab/members": "member", "cn=admins": "admin"},
        default_role="viewer",
    )
    assert "s3cret" not in repr(sign_on_setting(environ))


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"TRIBUTARY_PASSWORD_LOGIN": "off"}, "there is no other way in: set TRIBUTARY_OIDC_ISSUER"),
        (ISSUER, "needs TRIBUTARY_OIDC_CLIENT_ID"),
        ({**COMPLETE, "TRIBUTARY_OIDC_GROUP_ROLES": ""}, "Nobody could sign on"),
        ({"TRIBUTARY_OIDC_ISSUER": "http://id.example.org"}, "must be an address with https://"),
        ({**COMPLETE, "TRIBUTARY_OIDC_GROUP_ROLES": "lab=god"}, "groups with a role each"),
        ({**COMPLETE, "TRIBUTARY_OIDC_GROUP_ROLES": "lab=member,lab=admin"}, "groups with a role each"),
        ({**COMPLETE, "TRIBUTARY_OIDC_DEFAULT_ROLE": "admin"}, "must be none, viewer or member"),
    ],
)
def test_what_would_leave_somebody_out_or_let_everybody_in_is_refused(environ: dict[str, str], reason: str) -> None:
    with pytest.raises(env.SettingError, match=reason):
        sign_on_setting(environ)
