// Consumers of Apache Kafka's own client in one group, for test_groups_consumer.py.
//
// Arguments: bootstrap servers, group, then commands, one a line, on standard input:
//   start NAME PROTOCOL topics T1,T2 | regex PATTERN     a consumer that polls in a thread of its own
//   stop NAME                                            closes it
//   show                                                 one line: NAME=partitions ... | group type and state
// Every answer is one line.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

public class ConsumerGroups {
    static class Member extends Thread {
        final KafkaConsumer<String, String> consumer;
        volatile List<String> owned = List.of();
        volatile int read = 0;
        volatile String failure = "";
        volatile boolean stopping = false;

        Member(Properties properties, String how, String what) {
            consumer = new KafkaConsumer<>(properties);
            if (how.equals("regex")) consumer.subscribe(new SubscriptionPattern(what));
            else consumer.subscribe(List.of(what.split(",")));
        }

        public void run() {
            try (consumer) {
                while (!stopping) {
                    read += consumer.poll(Duration.ofMillis(100)).count();
                    List<String> now = new ArrayList<>();
                    consumer.assignment().forEach(p -> now.add(p.toString()));
                    now.sort(null);
                    owned = now;
                }
                consumer.commitSync();
            } catch (WakeupException e) {
                // It is being stopped.
            } catch (Exception e) {
                failure = e.toString();
            }
        }
    }

    static String described(Admin admin, String group) throws InterruptedException {
        try {
            var found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            return found.type() + " " + found.groupState();
        } catch (ExecutionException e) {
            return "unknown " + e.getCause();
        }
    }

    public static void main(String[] args) throws Exception {
        String servers = args[0], group = args[1];
        Map<String, Member> members = new TreeMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("start")) {
                    Properties properties = new Properties();
                    properties.put("bootstrap.servers", servers);
                    properties.put("group.id", group);
                    properties.put("group.protocol", words[2]);
                    properties.put("client.id", words[1]);
                    properties.put("auto.offset.reset", "earliest");
                    if (words[2].equals("classic")) {
                        properties.put("heartbeat.interval.ms", "200");
                        properties.put("partition.assignment.strategy",
                            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
                    }
                    properties.put("key.deserializer", StringDeserializer.class);
                    properties.put("value.deserializer", StringDeserializer.class);
                    Member member = new Member(properties, words[3], words[4]);
                    members.put(words[1], member);
                    member.start();
                    System.out.println("started");
                } else if (words[0].equals("stop")) {
                    Member member = members.remove(words[1]);
                    member.stopping = true;
                    member.join();
                    System.out.println("stopped " + member.read + " " + member.failure);
                } else {
                    StringBuilder shown = new StringBuilder();
                    members.forEach((name, member) -> shown.append(name).append('=')
                        .append(String.join(",", member.owned)).append(member.failure).append(' '));
                    System.out.println(shown + "| " + described(admin, group));
                }
            }
        }
        for (Member member : members.values()) {
            member.stopping = true;
            member.join();
        }
    }
}
