"""The OpenID Connect provider with whose accounts people log in, and the rules that its settings keep together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from config import env


@dataclass(frozen=True)
class SignOn:
    """A provider, and which of its people may do what here."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    name: str = "single sign-on"
    scopes: str = "openid profile email"
    groups_claim: str = "groups"
    group_roles: Mapping[str, str] = field(default_factory=dict)
    default_role: str = "none"


def sign_on_setting(environ: Mapping[str, str] | None = None) -> SignOn | None:
    """None where people log in with passwords alone."""
    issuer, client_id = env.OIDC_ISSUER.read(environ), env.OIDC_CLIENT_ID.read(environ)
    if not issuer:
        if not env.PASSWORD_LOGIN.read(environ):
            raise env.SettingError(
                "TRIBUTARY_PASSWORD_LOGIN is off and there is no other way in: set TRIBUTARY_OIDC_ISSUER."
            )
        return None
    if not client_id:
        raise env.SettingError("TRIBUTARY_OIDC_ISSUER needs TRIBUTARY_OIDC_CLIENT_ID, as the provider knows it.")
    group_roles, default_role = env.OIDC_GROUP_ROLES.read(environ), env.OIDC_DEFAULT_ROLE.read(environ)
    if not group_roles and default_role == "none":
        raise env.SettingError(
            "Nobody could sign on: give groups a role with TRIBUTARY_OIDC_GROUP_ROLES,"
            " or everybody of the provider one with TRIBUTARY_OIDC_DEFAULT_ROLE."
        )
    return SignOn(
        issuer=issuer,
        client_id=client_id,
        client_secret=env.OIDC_CLIENT_SECRET.read(environ),
        name=env.OIDC_NAME.read(environ),
        scopes=" ".join(dict.fromkeys(["openid", *env.OIDC_SCOPES.read(environ).split()])),
        groups_claim=env.OIDC_GROUPS_CLAIM.read(environ),
        group_roles=group_roles,
        default_role=default_role,
    )
