"""Broker keys about access, TLS and SASL, for the security that comes later."""

from __future__ import annotations

from odradek.config.checks import at_least, one_of
from odradek.config.declare import PER_BROKER, Settings, key, key_family, later, no_use
from odradek.config.kinds import ClassName, Double, Int, List, Long, Password, Short
from odradek.config.units import DAY_MS, HOUR_MS, KIB


@key_family("Access", use=later("security"))
class AccessKeys(Settings):
    """Broker keys about who may do what, and delegation tokens."""

    authorizer_class_name: str = key(
        "authorizer.class.name",
        default="",
        doc="Authorizer that checks every request; empty allows everything.",
    )
    principal_builder_class: ClassName = key(
        "principal.builder.class",
        default="org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        dynamic=PER_BROKER,
        use=no_use("a Java class cannot run here"),
        doc="How a connection's principal is found.",
    )
    delegation_token_secret_key: Password | None = key(
        "delegation.token.secret.key",
        default=None,
        doc="Secret that delegation tokens are signed with.",
    )
    delegation_token_expiry_time_ms: Long = key(
        "delegation.token.expiry.time.ms",
        default=DAY_MS,
        check=at_least(1),
        doc="A delegation token must be renewed within this time.",
    )
    delegation_token_max_lifetime_ms: Long = key(
        "delegation.token.max.lifetime.ms",
        default=7 * DAY_MS,
        check=at_least(1),
        doc="A delegation token cannot be renewed beyond this age.",
    )
    delegation_token_expiry_check_interval_ms: Long = key(
        "delegation.token.expiry.check.interval.ms",
        default=HOUR_MS,
        check=at_least(1),
        doc="Look for expired tokens this often.",
    )
    security_providers: str | None = key(
        "security.providers",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java security providers.",
    )
    super_users: str | None = key(
        "super.users",
        default=None,
        doc="Principals that may do everything, separated by semicolons.",
    )
    allow_everyone_if_no_acl_found: bool = key(
        "allow.everyone.if.no.acl.found", default=False, doc="Allow what no access rule mentions."
    )


@key_family("TLS", use=later("security"))
class TlsKeys(Settings):
    """Broker keys about TLS."""

    ssl_keystore_location: str | None = key(
        "ssl.keystore.location",
        default=None,
        dynamic=PER_BROKER,
        doc="File with the broker's certificate and key.",
    )
    ssl_keystore_password: Password | None = key(
        "ssl.keystore.password", default=None, dynamic=PER_BROKER, doc="Password of that file."
    )
    ssl_keystore_type: str = key(
        "ssl.keystore.type", default="JKS", dynamic=PER_BROKER, doc="Format of that file."
    )
    ssl_keystore_certificate_chain: Password | None = key(
        "ssl.keystore.certificate.chain",
        default=None,
        dynamic=PER_BROKER,
        doc="Certificate chain in PEM, instead of a file.",
    )
    ssl_keystore_key: Password | None = key(
        "ssl.keystore.key",
        default=None,
        dynamic=PER_BROKER,
        doc="Private key in PEM, instead of a file.",
    )
    ssl_key_password: Password | None = key(
        "ssl.key.password", default=None, dynamic=PER_BROKER, doc="Password of the private key."
    )
    ssl_truststore_location: str | None = key(
        "ssl.truststore.location",
        default=None,
        dynamic=PER_BROKER,
        doc="File with the certificates to trust.",
    )
    ssl_truststore_password: Password | None = key(
        "ssl.truststore.password", default=None, dynamic=PER_BROKER, doc="Password of that file."
    )
    ssl_truststore_type: str = key(
        "ssl.truststore.type", default="JKS", dynamic=PER_BROKER, doc="Format of that file."
    )
    ssl_truststore_certificates: Password | None = key(
        "ssl.truststore.certificates",
        default=None,
        dynamic=PER_BROKER,
        doc="Certificates to trust in PEM, instead of a file.",
    )
    ssl_client_auth: str = key(
        "ssl.client.auth",
        default="none",
        check=one_of("required", "requested", "none"),
        dynamic=PER_BROKER,
        doc="Whether clients must, may or need not show a certificate.",
    )
    ssl_principal_mapping_rules: str = key(
        "ssl.principal.mapping.rules",
        default="DEFAULT",
        doc="How a certificate's name becomes a principal.",
    )
    ssl_enabled_protocols: List = key(
        "ssl.enabled.protocols",
        default=("TLSv1.2", "TLSv1.3"),
        dynamic=PER_BROKER,
        doc="TLS versions that are accepted.",
    )
    ssl_protocol: str = key(
        "ssl.protocol", default="TLSv1.3", dynamic=PER_BROKER, doc="TLS version to prefer."
    )
    ssl_cipher_suites: List = key(
        "ssl.cipher.suites",
        default=(),
        dynamic=PER_BROKER,
        doc="Cipher suites that are accepted; all of the library's when empty.",
    )
    ssl_endpoint_identification_algorithm: str = key(
        "ssl.endpoint.identification.algorithm",
        default="https",
        dynamic=PER_BROKER,
        doc="How the other side's host name is checked; empty does not check.",
    )
    ssl_allow_dn_changes: bool = key(
        "ssl.allow.dn.changes",
        default=False,
        doc="Accept a new keystore with another distinguished name.",
    )
    ssl_allow_san_changes: bool = key(
        "ssl.allow.san.changes",
        default=False,
        doc="Accept a new keystore with other alternative names.",
    )
    ssl_engine_factory_class: ClassName | None = key(
        "ssl.engine.factory.class",
        default=None,
        dynamic=PER_BROKER,
        use=no_use("there is no JVM"),
        doc="Java class that makes TLS engines.",
    )
    ssl_keymanager_algorithm: str = key(
        "ssl.keymanager.algorithm",
        default="SunX509",
        dynamic=PER_BROKER,
        use=no_use("there is no JVM"),
        doc="Java key manager.",
    )
    ssl_trustmanager_algorithm: str = key(
        "ssl.trustmanager.algorithm",
        default="PKIX",
        dynamic=PER_BROKER,
        use=no_use("there is no JVM"),
        doc="Java trust manager.",
    )
    ssl_provider: str | None = key(
        "ssl.provider",
        default=None,
        dynamic=PER_BROKER,
        use=no_use("there is no JVM"),
        doc="Java security provider of TLS.",
    )
    ssl_secure_random_implementation: str | None = key(
        "ssl.secure.random.implementation",
        default=None,
        dynamic=PER_BROKER,
        use=no_use("there is no JVM"),
        doc="Java random generator of TLS.",
    )


@key_family("SASL", use=later("security"))
class SaslKeys(Settings):
    """Broker keys about SASL and Kerberos."""

    sasl_enabled_mechanisms: List = key(
        "sasl.enabled.mechanisms",
        default=("GSSAPI",),
        dynamic=PER_BROKER,
        doc="Log-in mechanisms that are offered.",
    )
    sasl_jaas_config: Password | None = key(
        "sasl.jaas.config",
        default=None,
        dynamic=PER_BROKER,
        doc="Log-in configuration in JAAS form.",
    )
    sasl_mechanism_inter_broker_protocol: str = key(
        "sasl.mechanism.inter.broker.protocol",
        default="GSSAPI",
        dynamic=PER_BROKER,
        doc="Mechanism between brokers.",
    )
    sasl_mechanism_controller_protocol: str = key(
        "sasl.mechanism.controller.protocol",
        default="GSSAPI",
        use=no_use("there is no KRaft quorum"),
        doc="Mechanism towards KRaft controllers.",
    )
    sasl_server_max_receive_size: Int = key(
        "sasl.server.max.receive.size", default=512 * KIB, doc="Largest log-in message accepted."
    )
    sasl_server_callback_handler_class: ClassName | None = key(
        "sasl.server.callback.handler.class",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java class that checks credentials.",
    )
    sasl_client_callback_handler_class: ClassName | None = key(
        "sasl.client.callback.handler.class",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java class that supplies credentials.",
    )
    sasl_login_callback_handler_class: ClassName | None = key(
        "sasl.login.callback.handler.class",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java class that supplies log-in data.",
    )
    sasl_login_class: ClassName | None = key(
        "sasl.login.class",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java class that logs in.",
    )
    sasl_login_connect_timeout_ms: Int | None = key(
        "sasl.login.connect.timeout.ms",
        default=None,
        doc="Time-out of connecting to a log-in provider.",
    )
    sasl_login_read_timeout_ms: Int | None = key(
        "sasl.login.read.timeout.ms",
        default=None,
        doc="Time-out of reading from a log-in provider.",
    )
    sasl_login_refresh_buffer_seconds: Short = key(
        "sasl.login.refresh.buffer.seconds",
        default=300,
        dynamic=PER_BROKER,
        doc="Refresh a log-in at least this long before it ends.",
    )
    sasl_login_refresh_min_period_seconds: Short = key(
        "sasl.login.refresh.min.period.seconds",
        default=60,
        dynamic=PER_BROKER,
        doc="Shortest time between two refreshes.",
    )
    sasl_login_refresh_window_factor: Double = key(
        "sasl.login.refresh.window.factor",
        default=0.8,
        dynamic=PER_BROKER,
        doc="Share of a log-in's life after which it is refreshed.",
    )
    sasl_login_refresh_window_jitter: Double = key(
        "sasl.login.refresh.window.jitter",
        default=0.05,
        dynamic=PER_BROKER,
        doc="Random share added to that.",
    )
    sasl_login_retry_backoff_ms: Long = key(
        "sasl.login.retry.backoff.ms", default=100, doc="First pause after a failed log-in."
    )
    sasl_login_retry_backoff_max_ms: Long = key(
        "sasl.login.retry.backoff.max.ms",
        default=10_000,
        doc="Longest pause between log-in attempts.",
    )
    sasl_kerberos_service_name: str | None = key(
        "sasl.kerberos.service.name",
        default=None,
        dynamic=PER_BROKER,
        doc="Kerberos service that brokers run as.",
    )
    sasl_kerberos_principal_to_local_rules: List = key(
        "sasl.kerberos.principal.to.local.rules",
        default=("DEFAULT",),
        dynamic=PER_BROKER,
        doc="How a Kerberos name becomes a principal.",
    )
    sasl_kerberos_kinit_cmd: str = key(
        "sasl.kerberos.kinit.cmd",
        default="/usr/bin/kinit",
        dynamic=PER_BROKER,
        doc="Path of kinit.",
    )
    sasl_kerberos_min_time_before_relogin: Long = key(
        "sasl.kerberos.min.time.before.relogin",
        default=60_000,
        dynamic=PER_BROKER,
        doc="Shortest pause between ticket renewals, in milliseconds.",
    )
    sasl_kerberos_ticket_renew_jitter: Double = key(
        "sasl.kerberos.ticket.renew.jitter",
        default=0.05,
        dynamic=PER_BROKER,
        doc="Random share added to the time of renewal.",
    )
    sasl_kerberos_ticket_renew_window_factor: Double = key(
        "sasl.kerberos.ticket.renew.window.factor",
        default=0.8,
        dynamic=PER_BROKER,
        doc="Share of a ticket's life after which it is renewed.",
    )
