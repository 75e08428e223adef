// Apache Kafka's own Java client against a broker: producer, partition consumer, admin.
// Run with the client's jars: java -cp 'libs/*' Conformance.java host:port [groups]
// Reports in TAP. "groups" adds what needs group and transaction coordinators.

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

public class Conformance {
    static final Duration LONG = Duration.ofSeconds(30);
    static String servers;
    static int count = 0;
    static boolean failed = false;

    interface Check { void run() throws Exception; }

    static void check(String name, Check body) {
        String verdict;
        try {
            body.run();
            verdict = "ok " + (++count) + " - " + name;
        } catch (Throwable error) {
            failed = true;
            verdict = "not ok " + (++count) + " - " + name + " # " + String.valueOf(error).replace('\n', ' ')
                + " at " + Arrays.stream(error.getStackTrace())
                    .filter(frame -> frame.getClassName().startsWith("Conformance")).findFirst();
        }
        System.out.println(verdict);
        System.out.flush();
    }

    static void equal(Object expected, Object found) {
        if (!java.util.Objects.equals(expected, found))
            throw new AssertionError("expected " + expected + ", found " + found);
    }

    static void that(boolean fact, String words) {
        if (!fact) throw new AssertionError(words);
    }

    interface Doomed { void run() throws Exception; }

    static Throwable fails(Class<? extends Throwable> kind, Doomed body) {
        try {
            body.run();
        } catch (Throwable error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            if (kind.isInstance(cause)) return cause;
            throw new AssertionError("expected " + kind.getSimpleName() + ", found " + cause, cause);
        }
        throw new AssertionError("expected " + kind.getSimpleName() + ", but it worked");
    }

    static Properties settings(String... pairs) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        properties.put("delivery.timeout.ms", "30000");
        properties.put("request.timeout.ms", "20000");
        for (int i = 0; i < pairs.length; i += 2) properties.put(pairs[i], pairs[i + 1]);
        return properties;
    }

    static List<ConsumerRecord<String, String>> read(Consumer<String, String> consumer, int wanted) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long deadline = System.nanoTime() + LONG.toNanos();
        while (found.size() < wanted) {
            that(System.nanoTime() < deadline, "only " + found.size() + " of " + wanted + " records came");
            consumer.poll(Duration.ofMillis(200)).forEach(found::add);
        }
        return found;
    }

    /** Apache Kafka answers before all of it knows a new topic; so ask until it does. */
    static String create(Admin admin, String name, int partitions, Map<String, String> configs) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        long deadline = System.nanoTime() + LONG.toNanos();
        while (true) {
            try {
                Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
                for (int p = 0; p < partitions; p++) wanted.put(new TopicPartition(name, p), OffsetSpec.latest());
                admin.listOffsets(wanted).all().get();
                return name;
            } catch (ExecutionException error) {
                if (System.nanoTime() > deadline) throw error;
            }
        }
    }

    /** The key of an alert is its stage. */
    public static class AlertKeySerde implements Serializer<String[]> {
        @Override public byte[] serialize(String topic, String[] alert) {
            return alert[0].getBytes(StandardCharsets.UTF_8);
        }
    }

    /** CRITICAL alerts get the last partition for themselves. */
    public static class AlertLevelPartitioner implements Partitioner {
        @Override public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            int partitions = cluster.partitionCountForTopic(topic);
            boolean critical = ((String[]) key)[1].equals("CRITICAL");
            return critical ? partitions - 1 : Math.abs(Arrays.hashCode(keyBytes)) % (partitions - 1);
        }
        @Override public void close() { }
        @Override public void configure(Map<String, ?> configs) { }
    }

    public static void main(String[] args) throws Exception {
        servers = args[0];
        boolean groups = args.length > 1 && args[1].equals("groups");
        String run = "java-" + UUID.randomUUID().toString().substring(0, 8);
        try (Admin admin = Admin.create(settings())) {
            topics(admin, run);
            producers(admin, run);
            consumers(admin, run);
            settings(admin, run);
            insides(admin, run);
            if (groups) coordinators(admin, run);
            cleanUp(admin, run);
        }
        System.out.println("1.." + count);
        System.exit(failed ? 1 : 0);
    }

    static void topics(Admin admin, String run) {
        check("topic-exists", () -> {
            NewTopic topic = new NewTopic(run + "-a", 2, (short) 1).configs(Map.of("retention.ms", "86400000"));
            CreateTopicsResult made = admin.createTopics(List.of(topic));
            made.all().get();
            equal(2, made.numPartitions(run + "-a").get());
            equal("86400000", made.config(run + "-a").get().get("retention.ms").value());
            that(!made.topicId(run + "-a").get().equals(Uuid.ZERO_UUID), "no topic id");
            fails(TopicExistsException.class, () -> admin.createTopics(List.of(topic)).all().get());
        });
        check("invalid-topics", () -> {
            fails(InvalidTopicException.class, () -> admin.createTopics(List.of(new NewTopic("a/b", 1, (short) 1))).all().get());
            fails(InvalidReplicationFactorException.class, () -> admin.createTopics(List.of(new NewTopic(run + "-rf", 1, (short) 7))).all().get());
            fails(InvalidPartitionsException.class, () -> admin.createTopics(List.of(new NewTopic(run + "-p", 0, (short) 1))).all().get());
            Throwable why = fails(InvalidConfigurationException.class, () -> admin.createTopics(List.of(
                new NewTopic(run + "-c", 1, (short) 1).configs(Map.of("retention.ms", "soon")))).all().get());
            that(why.getMessage().contains("retention.ms"), "the message does not name the key: " + why.getMessage());
        });
        check("describe-topics", () -> {
            create(admin, run + "-d", 3, Map.of());
            TopicDescription described = admin.describeTopics(List.of(run + "-d")).allTopicNames().get().get(run + "-d");
            equal(3, described.partitions().size());
            described.partitions().forEach(p -> {
                equal(p.leader(), p.replicas().get(0));
                equal(p.replicas(), p.isr());
            });
            TopicDescription byId = admin.describeTopics(TopicCollection.ofTopicIds(List.of(described.topicId())))
                .allTopicIds().get().get(described.topicId());
            equal(run + "-d", byId.name());
            fails(UnknownTopicOrPartitionException.class, () -> admin.describeTopics(List.of(run + "-none")).allTopicNames().get());
            that(admin.listTopics().names().get().contains(run + "-d"), "not listed");
        });
        check("create-partitions", () -> {
            create(admin, run + "-grow", 1, Map.of());
            admin.createPartitions(Map.of(run + "-grow", NewPartitions.increaseTo(4))).all().get();
            fails(InvalidPartitionsException.class, () -> admin.createPartitions(Map.of(run + "-grow", NewPartitions.increaseTo(2))).all().get());
        });
        check("describe-cluster", () -> {
            DescribeClusterResult cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            equal(1, cluster.nodes().get().size());
            equal(cluster.nodes().get().iterator().next().id(), cluster.controller().get().id());
            equal(22, cluster.clusterId().get().length());
        });
    }

    static void producers(Admin admin, String run) {
        check("produce-every-codec", () -> {
            String topic = create(admin, run + "-codecs", 1, Map.of());
            long offset = 0;
            for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                try (Producer<String, String> producer = new KafkaProducer<>(settings("compression.type", codec, "linger.ms", "5"))) {
                    List<Future<RecordMetadata>> sent = new ArrayList<>();
                    for (int i = 0; i < 3; i++)
                        sent.add(producer.send(new ProducerRecord<>(topic, codec, "value ".repeat(20) + i)));
                    for (Future<RecordMetadata> future : sent) equal(offset++, future.get().offset());
                }
            }
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings())) {
                TopicPartition place = new TopicPartition(topic, 0);
                consumer.assign(List.of(place));
                consumer.seekToBeginning(List.of(place));
                List<ConsumerRecord<String, String>> found = read(consumer, (int) offset);
                for (int i = 0; i < offset; i++) equal((long) i, found.get(i).offset());
                equal("zstd", found.get((int) offset - 1).key());
            }
        });
        check("send-returns-metadata", () -> { // S-4.6
            String topic = create(admin, run + "-audit", 1, Map.of());
            try (Producer<String, String> producer = new KafkaProducer<>(settings("acks", "all", "retries", "3", "max.in.flight.requests.per.connection", "1"))) {
                RecordMetadata sent = producer.send(new ProducerRecord<>(topic, null, "audit event")).get();
                equal(topic, sent.topic());
                equal(0, sent.partition());
                equal(0L, sent.offset());
                that(sent.hasTimestamp(), "no timestamp");
            }
        });
        check("partitioner-and-serializer", () -> { // S-4.2, S-4.3, S-4.8
            String topic = create(admin, run + "-alert", 3, Map.of());
            List<Exception> errors = Collections.synchronizedList(new ArrayList<>());
            Properties settings = settings();
            settings.put("key.serializer", AlertKeySerde.class);
            settings.put("partitioner.class", AlertLevelPartitioner.class);
            try (Producer<String[], String> producer = new KafkaProducer<>(settings)) {
                for (String level : List.of("CRITICAL", "WARNING", "INFO", "CRITICAL"))
                    producer.send(new ProducerRecord<>(topic, new String[] {"Stage 1", level}, level),
                        (metadata, error) -> { if (error != null) errors.add(error); });
            }
            equal(List.of(), errors);
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings())) {
                consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1), new TopicPartition(topic, 2)));
                consumer.seekToBeginning(consumer.assignment());
                for (ConsumerRecord<String, String> record : read(consumer, 4)) {
                    equal("Stage 1", record.key());
                    equal(record.value().equals("CRITICAL"), record.partition() == 2);
                }
            }
        });
        check("headers-nulls-timestamps", () -> {
            String topic = create(admin, run + "-parts", 1, Map.of());
            long time = System.currentTimeMillis() - 60_000;
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, 0, time, "k", (String) null);
                record.headers().add("a", new byte[] {1}).add("a", new byte[0]).add("b", null);
                producer.send(record).get();
            }
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings())) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                consumer.seek(new TopicPartition(topic, 0), 0);
                ConsumerRecord<String, String> record = read(consumer, 1).get(0);
                equal(time, record.timestamp());
                equal(null, record.value());
                equal(3, record.headers().toArray().length);
                equal(new RecordHeader("b", (byte[]) null), record.headers().lastHeader("b"));
                equal(Optional.of(0), record.leaderEpoch());
            }
        });
        check("acks-levels", () -> {
            String topic = create(admin, run + "-acks", 1, Map.of());
            for (String acks : List.of("0", "1", "all"))
                try (Producer<String, String> producer = new KafkaProducer<>(settings("acks", acks, "enable.idempotence", "false"))) {
                    RecordMetadata sent = producer.send(new ProducerRecord<>(topic, "x")).get();
                    equal(!acks.equals("0"), sent.hasOffset());
                }
        });
        check("too-large", () -> {
            String topic = create(admin, run + "-small", 1, Map.of("max.message.bytes", "500"));
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                fails(RecordTooLargeException.class, () -> producer.send(new ProducerRecord<>(topic, "x".repeat(1000))).get());
                equal(0L, producer.send(new ProducerRecord<>(topic, "x")).get().offset());
            }
        });
        check("compacted-needs-keys", () -> {
            String topic = create(admin, run + "-compact", 1, Map.of("cleanup.policy", "compact"));
            try (Producer<String, String> producer = new KafkaProducer<>(settings("linger.ms", "200"))) {
                Future<RecordMetadata> bad = producer.send(new ProducerRecord<>(topic, null, "no key"));
                Future<RecordMetadata> good = producer.send(new ProducerRecord<>(topic, "k", "v"));
                producer.flush();
                Throwable why = fails(InvalidRecordException.class, bad::get);
                that(String.valueOf(why.getMessage()).toLowerCase().contains("key"), "unclear: " + why.getMessage());
                fails(KafkaException.class, good::get);
                producer.send(new ProducerRecord<>(topic, "k", "v")).get();
            }
        });
        check("auto-create", () -> {
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                equal(0L, producer.send(new ProducerRecord<>(run + "-auto", "first")).get().offset());
            }
        });
    }

    static void consumers(Admin admin, String run) {
        check("positions", () -> { // S-5.11, S-5.12
            String topic = create(admin, run + "-times", 1, Map.of());
            TopicPartition place = new TopicPartition(topic, 0);
            long base = System.currentTimeMillis() - 3_600_000;
            long[] times = {10, 30, 20, 15, 40};
            try (Producer<String, String> producer = new KafkaProducer<>(settings("linger.ms", "100"))) {
                for (long time : times) producer.send(new ProducerRecord<>(topic, 0, base + time, null, "" + time));
            }
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings())) {
                consumer.assign(List.of(place));
                equal(Map.of(place, 0L), consumer.beginningOffsets(List.of(place)));
                equal(Map.of(place, 5L), consumer.endOffsets(List.of(place)));
                OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(place, base + 16)).get(place);
                equal(1L, found.offset());
                equal(base + 30, found.timestamp());
                equal(null, consumer.offsetsForTimes(Map.of(place, base + 41)).get(place));
                consumer.seek(place, 3);
                equal("15", read(consumer, 1).get(0).value());
                consumer.seekToEnd(List.of(place));
                equal(5L, consumer.position(place));
            }
            equal(4L, admin.listOffsets(Map.of(place, OffsetSpec.maxTimestamp())).partitionResult(place).get().offset());
        });
        check("out-of-range", () -> {
            String topic = create(admin, run + "-range", 1, Map.of());
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings("auto.offset.reset", "none"))) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                consumer.seek(new TopicPartition(topic, 0), 100);
                fails(org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> {
                    long deadline = System.nanoTime() + LONG.toNanos();
                    while (System.nanoTime() < deadline) consumer.poll(Duration.ofMillis(200));
                });
            }
        });
        check("small-fetches", () -> { // S-5.13
            String topic = create(admin, run + "-bounded", 1, Map.of());
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                for (int i = 0; i < 4; i++) producer.send(new ProducerRecord<>(topic, "x".repeat(300))).get();
            }
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings("fetch.max.bytes", "100", "max.partition.fetch.bytes", "100", "isolation.level", "read_committed"))) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                consumer.seekToBeginning(consumer.assignment());
                equal(4, read(consumer, 4).size());
            }
        });
        check("assign-then-more", () -> { // S-5.5
            String topic = create(admin, run + "-clicks", 3, Map.of());
            try (Producer<String, String> producer = new KafkaProducer<>(settings());
                 Consumer<String, String> consumer = new KafkaConsumer<>(settings("group.id", run, "enable.auto.commit", "false"))) {
                for (int p = 0; p < 3; p++) producer.send(new ProducerRecord<>(topic, p, null, "click")).get();
                consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
                consumer.seekToBeginning(consumer.assignment());
                Set<Integer> seen = new TreeSet<>();
                read(consumer, 2).forEach(record -> seen.add(record.partition()));
                equal(Set.of(0, 1), seen);
                fails(IllegalStateException.class, () -> consumer.subscribe(List.of(topic)));
                consumer.assign(List.of(new TopicPartition(topic, 2)));
                consumer.seekToBeginning(consumer.assignment());
                equal(2, read(consumer, 1).get(0).partition());
                equal(3, consumer.partitionsFor(topic).size());
            }
        });
    }

    static void settings(Admin admin, String run) {
        check("configs", () -> {
            String topic = create(admin, run + "-configs", 1, Map.of("segment.ms", "100000"));
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            Config before = admin.describeConfigs(List.of(resource), new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true))
                .all().get().get(resource);
            equal(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, before.get("segment.ms").source());
            equal(ConfigEntry.ConfigSource.DEFAULT_CONFIG, before.get("cleanup.policy").source());
            equal(ConfigEntry.ConfigType.LIST, before.get("cleanup.policy").type());
            that(before.get("segment.ms").documentation() != null, "no documentation");
            that(before.get("segment.ms").synonyms().size() >= 1, "no synonyms");
            admin.incrementalAlterConfigs(Map.of(resource, List.of(
                new AlterConfigOp(new ConfigEntry("retention.ms", "1234"), AlterConfigOp.OpType.SET),
                new AlterConfigOp(new ConfigEntry("segment.ms", ""), AlterConfigOp.OpType.DELETE)))).all().get();
            long deadline = System.nanoTime() + LONG.toNanos();
            Config after;
            do {
                after = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            } while (!after.get("retention.ms").value().equals("1234") && System.nanoTime() < deadline);
            equal("1234", after.get("retention.ms").value());
            equal(ConfigEntry.ConfigSource.DEFAULT_CONFIG, after.get("segment.ms").source());
            fails(InvalidConfigurationException.class, () -> admin.incrementalAlterConfigs(Map.of(resource, List.of(
                new AlterConfigOp(new ConfigEntry("retention.ms", "x"), AlterConfigOp.OpType.SET)))).all().get());
        });
        check("broker-configs", () -> {
            int node = admin.describeCluster().nodes().get().iterator().next().id();
            ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, "" + node);
            Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            that(config.get("log.dirs") != null, "no log.dirs");
            that(config.get("node.id").isReadOnly(), "node.id is not read-only");
        });
        check("list-config-resources", () ->
            that(!admin.listConfigResources(Set.of(ConfigResource.Type.TOPIC), new ListConfigResourcesOptions()).all().get().isEmpty(), "none"));
    }

    static void insides(Admin admin, String run) {
        check("delete-records", () -> {
            String topic = create(admin, run + "-gone", 1, Map.of());
            TopicPartition place = new TopicPartition(topic, 0);
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                for (int i = 0; i < 5; i++) producer.send(new ProducerRecord<>(topic, "" + i)).get();
            }
            equal(3L, admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(3))).lowWatermarks().get(place).get().lowWatermark());
            equal(3L, admin.listOffsets(Map.of(place, OffsetSpec.earliest())).partitionResult(place).get().offset());
            fails(org.apache.kafka.common.errors.OffsetOutOfRangeException.class, () -> admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(9))).all().get());
        });
        check("log-dirs", () -> {
            int node = admin.describeCluster().nodes().get().iterator().next().id();
            Map<String, LogDirDescription> dirs = admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node);
            LogDirDescription dir = dirs.values().iterator().next();
            equal(null, dir.error());
            that(dir.replicaInfos().get(new TopicPartition(run + "-gone", 0)).size() > 0, "no size");
            that(dir.totalBytes().getAsLong() > 0, "no total");
        });
        check("features", () -> {
            FeatureMetadata features = admin.describeFeatures().featureMetadata().get();
            that(features.supportedFeatures() != null && features.finalizedFeatures() != null, "none");
        });
        check("describe-producers", () -> {
            TopicPartition place = new TopicPartition(run + "-gone", 0);
            Collection<ProducerState> states = admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers();
            equal(1, states.size());
            equal(4, states.iterator().next().lastSequence());
        });
    }

    static void coordinators(Admin admin, String run) {
        check("group", () -> {
            String topic = create(admin, run + "-group", 2, Map.of());
            try (Producer<String, String> producer = new KafkaProducer<>(settings())) {
                for (int p = 0; p < 2; p++) producer.send(new ProducerRecord<>(topic, p, null, "v")).get();
            }
            for (String protocol : List.of("classic", "consumer")) {
                String group = run + "-" + protocol;
                try (Consumer<String, String> consumer = new KafkaConsumer<>(settings("group.id", group, "group.protocol", protocol, "auto.offset.reset", "earliest", "enable.auto.commit", "false"))) {
                    consumer.subscribe(List.of(topic));
                    read(consumer, 2);
                    consumer.commitSync();
                    equal(1L, consumer.committed(Set.of(new TopicPartition(topic, 0))).get(new TopicPartition(topic, 0)).offset());
                }
                equal(1L, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(new TopicPartition(topic, 1)).offset());
                admin.describeConsumerGroups(List.of(group)).all().get();
            }
            that(admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get().size() >= 2, "groups are missing");
            admin.deleteConsumerGroups(List.of(run + "-classic", run + "-consumer")).all().get();
        });
        check("transaction", () -> {
            String topic = create(admin, run + "-txn", 1, Map.of());
            try (Producer<String, String> producer = new KafkaProducer<>(settings("transactional.id", run + "-t"))) {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, "aborted")).get();
                producer.abortTransaction();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, "committed"));
                producer.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)), new ConsumerGroupMetadata(run + "-txn-group"));
                producer.commitTransaction();
            }
            try (Consumer<String, String> consumer = new KafkaConsumer<>(settings("isolation.level", "read_committed"))) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                consumer.seekToBeginning(consumer.assignment());
                equal("committed", read(consumer, 1).get(0).value());
            }
            that(!admin.listTransactions().all().get().isEmpty(), "no transactions");
            admin.describeTransactions(List.of(run + "-t")).all().get();
        });
    }

    static void cleanUp(Admin admin, String run) {
        check("delete-topics", () -> {
            List<String> mine = admin.listTopics().names().get().stream().filter(name -> name.startsWith(run)).toList();
            that(mine.size() > 10, "only " + mine);
            Uuid id = admin.describeTopics(List.of(mine.get(0))).allTopicNames().get().get(mine.get(0)).topicId();
            admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get(30, TimeUnit.SECONDS);
            admin.deleteTopics(mine.subList(1, mine.size())).all().get(30, TimeUnit.SECONDS);
            fails(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(run + "-none")).all().get());
            fails(UnknownTopicIdException.class, () -> admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get());
        });
    }
}
