"""Broker keys about OAUTHBEARER."""

from __future__ import annotations

from odradek.config.checks import between, one_of_any_case
from odradek.config.declare import Settings, key, key_family, later, no_use
from odradek.config.kinds import ClassName, Int, List, Long, Password
from odradek.config.units import HOUR_MS


@key_family("OAuth", use=later("security"))
class OAuthKeys(Settings):
    """Broker keys about OAUTHBEARER."""

    sasl_oauthbearer_expected_audience: List = key(
        "sasl.oauthbearer.expected.audience", default=(), doc="Audiences a token may be for."
    )
    sasl_oauthbearer_expected_issuer: str | None = key(
        "sasl.oauthbearer.expected.issuer", default=None, doc="Issuer a token must come from."
    )
    sasl_oauthbearer_clock_skew_seconds: Int = key(
        "sasl.oauthbearer.clock.skew.seconds",
        default=30,
        doc="Difference of clocks that is tolerated.",
    )
    sasl_oauthbearer_scope: str | None = key(
        "sasl.oauthbearer.scope", default=None, doc="Scope to ask for."
    )
    sasl_oauthbearer_scope_claim_name: str = key(
        "sasl.oauthbearer.scope.claim.name", default="scope", doc="Claim that holds the scope."
    )
    sasl_oauthbearer_sub_claim_name: str = key(
        "sasl.oauthbearer.sub.claim.name", default="sub", doc="Claim that holds the subject."
    )
    sasl_oauthbearer_token_endpoint_url: str | None = key(
        "sasl.oauthbearer.token.endpoint.url", default=None, doc="Address tokens come from."
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = key(
        "sasl.oauthbearer.jwks.endpoint.url", default=None, doc="Address signing keys come from."
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: Long = key(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        default=HOUR_MS,
        doc="Read the signing keys again this often.",
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: Long = key(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        default=100,
        doc="First pause after failing to read them.",
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: Long = key(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        default=10_000,
        doc="Longest pause between attempts to read them.",
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = key(
        "sasl.oauthbearer.client.credentials.client.id",
        default=None,
        doc="Client id for the client-credentials grant.",
    )
    sasl_oauthbearer_client_credentials_client_secret: Password | None = key(
        "sasl.oauthbearer.client.credentials.client.secret",
        default=None,
        doc="Client secret for the client-credentials grant.",
    )
    sasl_oauthbearer_assertion_algorithm: str = key(
        "sasl.oauthbearer.assertion.algorithm",
        default="RS256",
        check=one_of_any_case("ES256", "RS256"),
        doc="Signature of a JWT assertion.",
    )
    sasl_oauthbearer_assertion_claim_aud: str | None = key(
        "sasl.oauthbearer.assertion.claim.aud", default=None, doc="Audience put into an assertion."
    )
    sasl_oauthbearer_assertion_claim_exp_seconds: Int = key(
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        default=300,
        check=between(0, 86_400),
        doc="Life of an assertion.",
    )
    sasl_oauthbearer_assertion_claim_iss: str | None = key(
        "sasl.oauthbearer.assertion.claim.iss", default=None, doc="Issuer put into an assertion."
    )
    sasl_oauthbearer_assertion_claim_jti_include: bool = key(
        "sasl.oauthbearer.assertion.claim.jti.include",
        default=False,
        doc="Give each assertion an id.",
    )
    sasl_oauthbearer_assertion_claim_nbf_seconds: Int = key(
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        default=60,
        check=between(0, 3600),
        doc="Start of an assertion's life, so long before now.",
    )
    sasl_oauthbearer_assertion_claim_sub: str | None = key(
        "sasl.oauthbearer.assertion.claim.sub", default=None, doc="Subject put into an assertion."
    )
    sasl_oauthbearer_assertion_file: str | None = key(
        "sasl.oauthbearer.assertion.file", default=None, doc="File with a ready assertion."
    )
    sasl_oauthbearer_assertion_private_key_file: str | None = key(
        "sasl.oauthbearer.assertion.private.key.file",
        default=None,
        doc="File with the key that signs assertions.",
    )
    sasl_oauthbearer_assertion_private_key_passphrase: Password | None = key(
        "sasl.oauthbearer.assertion.private.key.passphrase",
        default=None,
        doc="Passphrase of that key.",
    )
    sasl_oauthbearer_assertion_template_file: str | None = key(
        "sasl.oauthbearer.assertion.template.file",
        default=None,
        doc="File with a template of an assertion.",
    )
    sasl_oauthbearer_jwt_retriever_class: ClassName = key(
        "sasl.oauthbearer.jwt.retriever.class",
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        use=no_use("there is no JVM"),
        doc="Java class that fetches tokens.",
    )
    sasl_oauthbearer_jwt_validator_class: ClassName = key(
        "sasl.oauthbearer.jwt.validator.class",
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        use=no_use("there is no JVM"),
        doc="Java class that checks tokens.",
    )
