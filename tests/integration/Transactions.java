// Apache Kafka's transactional producer against a broker. Reports in TAP; one line per check.
//
//   java -cp "kafka-libs/*" Transactions.java host:port [expected epoch step per transaction]
//
// The step is 1 where the broker has finalised transaction.version 2 (KIP-890), else 0.

import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.*;

public class Transactions {
    static String servers;
    static int step;
    static int number;
    static final String run = "j" + System.nanoTime();
    static Admin admin;

    interface Check { void run() throws Exception; }

    static void check(String name, Check body) {
        number++;
        try {
            body.run();
            System.out.printf("ok %d - %s%n", number, name);
        } catch (Throwable problem) {
            System.out.printf("not ok %d - %s # %s%n", number, name, problem.toString().replace("\n", " "));
            problem.printStackTrace();
        }
        System.out.flush();
    }

    static void that(boolean holds, String otherwise) {
        if (!holds) throw new AssertionError(otherwise);
    }

    static Producer<String, String> producer(String id, Object... more) {
        Properties p = new Properties();
        p.put("bootstrap.servers", servers);
        p.put("transactional.id", id);
        p.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        p.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
        Producer<String, String> made = new KafkaProducer<>(p);
        made.initTransactions();
        return made;
    }

    static Consumer<String, String> consumer(String group, String isolation) {
        Properties p = new Properties();
        p.put("bootstrap.servers", servers);
        p.put("group.id", group);
        p.put("isolation.level", isolation);
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        p.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        p.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        return new KafkaConsumer<>(p);
    }

    static List<String> values(String topic, String isolation) {
        List<String> found = new ArrayList<>();
        try (Consumer<String, String> c = consumer(run + "-reader", isolation)) {
            List<TopicPartition> all = new ArrayList<>();
            c.partitionsFor(topic).forEach(p -> all.add(new TopicPartition(topic, p.partition())));
            c.assign(all);
            c.seekToBeginning(all);
            Map<TopicPartition, Long> ends = c.endOffsets(all);
            long deadline = System.currentTimeMillis() + 30_000;
            while (all.stream().anyMatch(p -> c.position(p) < ends.get(p))) {
                if (System.currentTimeMillis() > deadline) throw new AssertionError("the end was never reached");
                c.poll(Duration.ofMillis(200)).forEach(r -> found.add(r.value()));
            }
        }
        Collections.sort(found);
        return found;
    }

    static TransactionDescription describe(String id) throws Exception {
        return admin.describeTransactions(List.of(id)).description(id).get();
    }

    static String topic(int partitions) throws Exception {
        String name = run + "-" + UUID.randomUUID();
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        return name;
    }

    public static void main(String[] args) throws Exception {
        servers = args[0];
        step = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        admin = Admin.create(Map.of("bootstrap.servers", servers));

        check("commit and abort", () -> {
            String topic = topic(2);
            try (Producer<String, String> p = producer(run + "-a")) {
                for (int t = 0; t < 4; t++) {
                    p.beginTransaction();
                    for (int i = 0; i < 5; i++) p.send(new ProducerRecord<>(topic, i % 2, "k", t + "-" + i)).get();
                    if (t % 2 == 0) p.commitTransaction(); else p.abortTransaction();
                }
            }
            List<String> seen = values(topic, "read_committed");
            that(seen.equals(List.of("0-0", "0-1", "0-2", "0-3", "0-4", "2-0", "2-1", "2-2", "2-3", "2-4")), "read " + seen);
            that(values(topic, "read_uncommitted").size() == 20, "uncommitted");
        });

        check("epoch per transaction", () -> {
            String topic = topic(1);
            try (Producer<String, String> p = producer(run + "-b")) {
                int epoch = describe(run + "-b").producerEpoch();
                for (int t = 0; t < 4; t++) {
                    p.beginTransaction();
                    p.send(new ProducerRecord<>(topic, "v" + t)).get();
                    that(describe(run + "-b").state() == TransactionState.ONGOING, "not ongoing");
                    if (t % 2 == 0) p.commitTransaction(); else p.abortTransaction();
                    epoch += step;
                    int now = describe(run + "-b").producerEpoch();
                    that(now == epoch, "epoch " + now + ", expected " + epoch);
                }
            }
        });

        check("fencing", () -> {
            String topic = topic(1);
            try (Producer<String, String> zombie = producer(run + "-c")) {
                zombie.beginTransaction();
                zombie.send(new ProducerRecord<>(topic, "zombie")).get();
                try (Producer<String, String> successor = producer(run + "-c")) {
                    try {
                        zombie.commitTransaction();
                        throw new AssertionError("the zombie committed");
                    } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                    }
                    successor.beginTransaction();
                    successor.send(new ProducerRecord<>(topic, "successor")).get();
                    successor.commitTransaction();
                }
            }
            that(values(topic, "read_committed").equals(List.of("successor")), "read the zombie");
        });

        check("fence by admin", () -> {
            String topic = topic(1);
            try (Producer<String, String> p = producer(run + "-f")) {
                p.beginTransaction();
                p.send(new ProducerRecord<>(topic, "x")).get();
                admin.fenceProducers(List.of(run + "-f")).all().get();
                try {
                    p.commitTransaction();
                    throw new AssertionError("not fenced");
                } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                }
            }
            that(values(topic, "read_committed").isEmpty(), "read");
        });

        check("consume, transform, produce", () -> {
            String source = topic(1), target = topic(1), group = run + "-g";
            try (Producer<String, String> p = producer(run + "-d")) {
                p.beginTransaction();
                for (int i = 0; i < 30; i++) p.send(new ProducerRecord<>(source, "" + i));
                p.commitTransaction();
            }
            TopicPartition place = new TopicPartition(source, 0);
            try (Producer<String, String> p = producer(run + "-e"); Consumer<String, String> c = consumer(group, "read_committed")) {
                c.subscribe(List.of(source));
                int done = 0, turn = 0;
                long deadline = System.currentTimeMillis() + 60_000;
                while (done < 30) {
                    that(System.currentTimeMillis() < deadline, "only " + done);
                    ConsumerRecords<String, String> records = c.poll(Duration.ofMillis(500));
                    if (records.isEmpty()) continue;
                    p.beginTransaction();
                    int n = 0;
                    long last = -1;
                    for (ConsumerRecord<String, String> r : records) {
                        if (n == 10) break;
                        p.send(new ProducerRecord<>(target, "<" + r.value() + ">"));
                        n++;
                        last = r.offset();
                    }
                    p.sendOffsetsToTransaction(Map.of(place, new OffsetAndMetadata(last + 1)), c.groupMetadata());
                    if (turn++ == 1) {
                        p.abortTransaction();
                        OffsetAndMetadata back = c.committed(Set.of(place)).get(place);
                        c.seek(place, back.offset());
                    } else {
                        p.commitTransaction();
                        done += n;
                        c.seek(place, last + 1);
                    }
                }
                that(c.committed(Set.of(place)).get(place).offset() == 30, "offset");
            }
            that(values(target, "read_committed").size() == 30, "target");
        });

        check("abort of a hanging transaction", () -> {
            String topic = topic(1);
            try (Producer<String, String> p = producer(run + "-h")) {
                p.beginTransaction();
                p.send(new ProducerRecord<>(topic, "x")).get();
                TopicPartition place = new TopicPartition(topic, 0);
                ProducerState state = admin.describeProducers(List.of(place)).partitionResult(place).get().activeProducers().get(0);
                that(state.currentTransactionStartOffset().getAsLong() == 0, "start offset");
                admin.abortTransaction(new AbortTransactionSpec(place, state.producerId(), (short) state.producerEpoch(), 0)).all().get();
                Map<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> ends = admin.listOffsets(
                    Map.of(place, OffsetSpec.latest()), new ListOffsetsOptions(org.apache.kafka.common.IsolationLevel.READ_COMMITTED)).all().get();
                that(ends.get(place).offset() == 2, "last stable offset");
            }
        });

        check("listed", () -> {
            Collection<TransactionListing> all = admin.listTransactions().all().get();
            that(all.stream().anyMatch(t -> t.transactionalId().equals(run + "-a")), "not listed");
            Collection<TransactionListing> some = admin.listTransactions(
                new ListTransactionsOptions().filterOnTransactionalIdPattern(run + "-[ab]")).all().get();
            that(some.size() == 2, "pattern gives " + some);
        });

        admin.close();
    }
}
