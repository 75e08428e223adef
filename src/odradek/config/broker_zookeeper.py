"""Broker keys that Kafka 4 no longer has: ZooKeeper's, and others that older files contain."""

from __future__ import annotations

from odradek.config.checks import at_least, between
from odradek.config.declare import Settings, key, key_family, later, no_use
from odradek.config.kinds import LONG_MAX, Int, List, Long, Password
from odradek.config.units import KIB


@key_family("ZooKeeper", use=later("ZooKeeper"))
class ZooKeeperKeys(Settings):
    """Keys that Kafka 4 dropped; here an ensemble still coordinates a cluster."""

    zookeeper_connect: str | None = key(
        "zookeeper.connect",
        default=None,
        doc="Ensemble that coordinates the cluster, host:port,…/chroot; alone when not set.",
    )
    zookeeper_session_timeout_ms: Int = key(
        "zookeeper.session.timeout.ms",
        default=18_000,
        check=at_least(1),
        doc="Silence after which ZooKeeper gives a broker up.",
    )
    zookeeper_connection_timeout_ms: Int | None = key(
        "zookeeper.connection.timeout.ms",
        default=None,
        doc="Give up connecting to ZooKeeper after this long.",
    )
    zookeeper_max_in_flight_requests: Int = key(
        "zookeeper.max.in.flight.requests",
        default=10,
        check=at_least(1),
        doc="Requests to ZooKeeper sent without waiting.",
    )
    zookeeper_set_acl: bool = key(
        "zookeeper.set.acl", default=False, doc="Protect the nodes in ZooKeeper."
    )
    zookeeper_sync_time_ms: Int = key(
        "zookeeper.sync.time.ms",
        default=2000,
        use=no_use("ZooKeeper's own setting decides"),
        doc="How far a ZooKeeper follower may lag.",
    )
    zookeeper_metadata_migration_enable: bool = key(
        "zookeeper.metadata.migration.enable",
        default=False,
        use=no_use("there is no KRaft quorum"),
        doc="Move the metadata from ZooKeeper to KRaft.",
    )
    zookeeper_ssl_client_enable: bool = key(
        "zookeeper.ssl.client.enable", default=False, doc="Use TLS towards ZooKeeper."
    )
    zookeeper_clientCnxnSocket: str | None = key(  # noqa: N815 (ZooKeeper spells it so)
        "zookeeper.clientCnxnSocket",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java class of ZooKeeper's connections.",
    )
    zookeeper_ssl_keystore_location: str | None = key(
        "zookeeper.ssl.keystore.location",
        default=None,
        doc="File with the certificate shown to ZooKeeper.",
    )
    zookeeper_ssl_keystore_password: Password | None = key(
        "zookeeper.ssl.keystore.password", default=None, doc="Password of that file."
    )
    zookeeper_ssl_keystore_type: str | None = key(
        "zookeeper.ssl.keystore.type", default=None, doc="Format of that file."
    )
    zookeeper_ssl_truststore_location: str | None = key(
        "zookeeper.ssl.truststore.location",
        default=None,
        doc="File with the certificates to trust in ZooKeeper.",
    )
    zookeeper_ssl_truststore_password: Password | None = key(
        "zookeeper.ssl.truststore.password", default=None, doc="Password of that file."
    )
    zookeeper_ssl_truststore_type: str | None = key(
        "zookeeper.ssl.truststore.type", default=None, doc="Format of that file."
    )
    zookeeper_ssl_protocol: str = key(
        "zookeeper.ssl.protocol", default="TLSv1.2", doc="TLS version to prefer towards ZooKeeper."
    )
    zookeeper_ssl_enabled_protocols: List | None = key(
        "zookeeper.ssl.enabled.protocols",
        default=None,
        doc="TLS versions accepted towards ZooKeeper.",
    )
    zookeeper_ssl_cipher_suites: List | None = key(
        "zookeeper.ssl.cipher.suites", default=None, doc="Cipher suites accepted towards ZooKeeper."
    )
    zookeeper_ssl_endpoint_identification_algorithm: str = key(
        "zookeeper.ssl.endpoint.identification.algorithm",
        default="HTTPS",
        doc="How ZooKeeper's host name is checked.",
    )
    zookeeper_ssl_crl_enable: bool = key(
        "zookeeper.ssl.crl.enable",
        default=False,
        doc="Check revocation lists of ZooKeeper's certificates.",
    )
    zookeeper_ssl_ocsp_enable: bool = key(
        "zookeeper.ssl.ocsp.enable",
        default=False,
        doc="Ask for the revocation of ZooKeeper's certificates.",
    )


@key_family("Keys of earlier releases")
class EarlierKeys(Settings):
    """Broker keys that older files still contain."""

    host_name: str | None = key(
        "host.name", default=None, doc="Host to listen on when listeners is not set."
    )
    port: Int = key(
        "port",
        default=9092,
        check=between(0, 65_535),
        doc="Port to listen on when listeners is not set.",
    )
    advertised_host_name: str | None = key(
        "advertised.host.name",
        default=None,
        doc="Host that clients are told when advertised.listeners is not set.",
    )
    advertised_port: Int | None = key(
        "advertised.port",
        default=None,
        check=between(0, 65_535),
        doc="Port that clients are told when advertised.listeners is not set.",
    )
    broker_id_generation_enable: bool = key(
        "broker.id.generation.enable",
        default=True,
        use=later("ZooKeeper"),
        doc="Let ZooKeeper number a broker without an id.",
    )
    reserved_broker_max_id: Int = key(
        "reserved.broker.max.id",
        default=1000,
        check=at_least(0),
        use=later("ZooKeeper"),
        doc="Numbers given by ZooKeeper start above this one.",
    )
    control_plane_listener_name: str | None = key(
        "control.plane.listener.name",
        default=None,
        use=later("replication"),
        doc="Listener that only the controller uses.",
    )
    controlled_shutdown_max_retries: Int = key(
        "controlled.shutdown.max.retries",
        default=3,
        use=later("replication"),
        doc="Attempts to hand leadership over before stopping.",
    )
    controlled_shutdown_retry_backoff_ms: Long = key(
        "controlled.shutdown.retry.backoff.ms",
        default=5000,
        use=later("replication"),
        doc="Pause between these attempts.",
    )
    leader_imbalance_per_broker_percentage: Int = key(
        "leader.imbalance.per.broker.percentage",
        default=10,
        use=later("replication"),
        doc="Give leadership back once this share of it is misplaced.",
    )
    inter_broker_protocol_version: str | None = key(
        "inter.broker.protocol.version",
        default=None,
        use=no_use("every node speaks the protocol of its own release"),
        doc="Release the brokers speak with each other.",
    )
    log_message_format_version: str | None = key(
        "log.message.format.version",
        default=None,
        use=no_use("records are stored in the current format only"),
        doc="Format of stored records.",
    )
    log_message_downconversion_enable: bool = key(
        "log.message.downconversion.enable",
        default=True,
        use=no_use("clients older than 0.11 are refused"),
        doc="Convert records for old consumers.",
    )
    log_message_timestamp_difference_max_ms: Long = key(
        "log.message.timestamp.difference.max.ms",
        default=LONG_MAX,
        check=at_least(0),
        use=no_use(
            "use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
        ),
        doc="Refuse records whose time is further off than this.",
    )
    replica_lag_max_messages: Long = key(
        "replica.lag.max.messages",
        default=4000,
        use=no_use("only replica.lag.time.max.ms counts since 0.9"),
        doc="Records a follower may lag behind.",
    )
    password_encoder_secret: Password | None = key(
        "password.encoder.secret",
        default=None,
        use=later("security"),
        doc="Secret that stored passwords are encrypted with.",
    )
    password_encoder_old_secret: Password | None = key(
        "password.encoder.old.secret",
        default=None,
        use=later("security"),
        doc="The secret before the last change.",
    )
    password_encoder_cipher_algorithm: str = key(
        "password.encoder.cipher.algorithm",
        default="AES/CBC/PKCS5Padding",
        use=later("security"),
        doc="Cipher of stored passwords.",
    )
    password_encoder_keyfactory_algorithm: str | None = key(
        "password.encoder.keyfactory.algorithm",
        default=None,
        use=no_use("there is no JVM"),
        doc="Java key factory of stored passwords.",
    )
    password_encoder_key_length: Int = key(
        "password.encoder.key.length",
        default=128,
        check=at_least(8),
        use=later("security"),
        doc="Key length of stored passwords.",
    )
    password_encoder_iterations: Int = key(
        "password.encoder.iterations",
        default=4 * KIB,
        check=at_least(1024),
        use=later("security"),
        doc="Iterations when the key of stored passwords is derived.",
    )
