"""The lab's OpenID Connect provider, asked with Authlib: authorization code with PKCE, state and nonce.

Authlib keeps state, nonce and verifier of a log-in in the browser's session, takes them once, and checks the ID token's
signature, times and nonce; whose token it is, for whom and from where is asked for here. It is imported by the first
log-in: most labs have no provider, and it takes 15 MB.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from config.sign_on import SignOn
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse

from workers.errors import TributaryError

logger = logging.getLogger(__name__)
TIMEOUT_SECONDS = 10
LEEWAY_SECONDS = 120
ERROR_NAME = re.compile(r"[a-z_]{1,40}")
Answer = TypeVar("Answer")
Claims = Mapping[str, Any]


class ProviderError(TributaryError):
    """The provider did not answer, said no, or said what cannot be believed."""


def lab_sign_on() -> SignOn:
    if settings.SIGN_ON is None:
        raise Http404
    return settings.SIGN_ON


@cache
def provider_client(issuer: str, client_id: str, client_secret: str, scopes: str) -> Any:
    """One for each process; it remembers what the provider says of itself."""
    from authlib.integrations.django_client import OAuth

    return OAuth().register(
        "sign-on",
        client_id=client_id,
        client_secret=client_secret or None,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": scopes, "code_challenge_method": "S256", "default_timeout": TIMEOUT_SECONDS},
    )


def checked_client(sign_on: SignOn) -> Any:
    """The client, once the provider has said that it is the one that was meant, and how it signs."""
    client = provider_client(sign_on.issuer, sign_on.client_id, sign_on.client_secret, sign_on.scopes)
    metadata = client.load_server_metadata()
    if str(metadata.get("issuer", "")).rstrip("/") != sign_on.issuer.rstrip("/"):
        provider_client.cache_clear()
        raise ProviderError(f"At {sign_on.issuer} another provider answers: {metadata.get('issuer')}.")
    signed_with = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    accepted = [name for name in signed_with if is_public_key_algorithm(name)]
    if not accepted:  # an empty list would mean any to the library
        raise ProviderError("The provider signs with no public key: nobody could tell whose its answers are.")
    metadata["id_token_signing_alg_values_supported"] = accepted
    return client


def is_public_key_algorithm(name: str) -> bool:
    """Neither unsigned nor signed with a secret that is shared."""
    return name != "none" and not name.startswith("HS")


def redirect_to_provider(request: HttpRequest, *, return_address: str) -> HttpResponse:
    sign_on = lab_sign_on()
    return ask(lambda: cast(HttpResponse, checked_client(sign_on).authorize_redirect(request, return_address)))


def claims_of_return(request: HttpRequest) -> Claims:
    """What the provider says of the person whose browser comes back from it."""
    sign_on = lab_sign_on()
    return ask(lambda: fetch_claims(request, sign_on))


def fetch_claims(request: HttpRequest, sign_on: SignOn) -> Claims:
    client = checked_client(sign_on)
    checks = {
        "iss": {"essential": True, "value": client.server_metadata["issuer"]},
        "aud": {"essential": True, "value": sign_on.client_id},
        "sub": {"essential": True},
    }
    token = client.authorize_access_token(request, claims_options=checks, leeway=LEEWAY_SECONDS)
    claims = token.get("userinfo")
    if not claims:
        raise ProviderError("The provider sent no ID token: is this platform registered there for OpenID Connect?")
    if nested_claim(claims, sign_on.groups_claim) is None and client.server_metadata.get("userinfo_endpoint"):
        more = client.userinfo(token=token)
        if more.get("sub") != claims["sub"]:
            raise ProviderError("The provider told of two different people in one log-in.")
        claims = {**more, **claims}
    return cast(Claims, claims)


def nested_claim(claims: Claims, path: str) -> Any:
    """A claim under its whole name, or down a path such as `realm_access.roles`."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def ask(question: Callable[[], Answer]) -> Answer:
    """Whatever goes wrong with a provider becomes a sentence; the log has the rest."""
    from authlib.integrations.django_client import OAuthError
    from joserfc.errors import JoseError
    from requests import RequestException

    try:
        return question()
    except OAuthError as error:
        raise ProviderError(oauth_message(error.error)) from error
    except RequestException as error:
        logger.warning("The sign-on provider does not answer: %s", error)
        raise ProviderError("The provider does not answer. Try again in a minute, or tell an admin.") from error
    except (JoseError, ValueError, KeyError, RuntimeError) as error:
        logger.warning("The sign-on provider's answer is refused: %r", error)
        provider_client.cache_clear()  # it may have new keys under the old names
        raise ProviderError("What the provider sent cannot be believed, and was refused. Tell an admin.") from error


def oauth_message(error: str) -> str:
    """Whoever makes up an address can put any words in it; only the name of an error is repeated."""
    said = f"The provider said no: {error}." if ERROR_NAME.fullmatch(error or "") else "The provider said no."
    return OAUTH_WORDS.get(error, said)


OAUTH_WORDS = {
    "access_denied": "The provider did not let you in, or you said no there.",
    "mismatching_state": "This log-in was not begun in this browser, was used already, or took too long. Begin anew.",
    "invalid_client": "The provider does not know this platform: an admin checks client ID and secret.",
    "invalid_grant": "The provider no longer knows this log-in. Begin anew.",
    "temporarily_unavailable": "The provider is not available now. Try again in a minute.",
    "server_error": "The provider had an error of its own. Try again in a minute.",
}
