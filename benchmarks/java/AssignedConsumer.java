// Reads partition 0 of a topic from its beginning, without a consumer group, and prints MB/s.
//
//   java -cp 'LIBS/*' AssignedConsumer.java BOOTSTRAP TOPIC RECORDS WARM_UP_RECORDS
//
// The warm-up reads the same records first, so that the figure is of compiled code. MB are 10^6 bytes of
// record values.

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class AssignedConsumer {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final int EMPTY_POLLS_MAX = 40;

    public static void main(String[] args) {
        Map<String, Object> config = Map.of("bootstrap.servers", args[0], "enable.auto.commit", "false");
        TopicPartition partition = new TopicPartition(args[1], 0);
        long records = Long.parseLong(args[2]);
        long warmUp = Long.parseLong(args[3]);
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(config, bytes, bytes)) {
            consumer.assign(List.of(partition));
            read(consumer, partition, warmUp);
            long began = System.nanoTime();
            long read = read(consumer, partition, records);
            double seconds = (System.nanoTime() - began) / 1e9;
            System.out.printf("%.3f%n", read / 1e6 / seconds);
        }
    }

    private static long read(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long count) {
        consumer.seekToBeginning(List.of(partition));
        long left = count;
        long bytes = 0;
        int empty = 0;
        while (left > 0) {
            var batch = consumer.poll(POLL);
            empty = batch.isEmpty() ? empty + 1 : 0;
            if (empty > EMPTY_POLLS_MAX) {
                throw new IllegalStateException(left + " records never came");
            }
            for (ConsumerRecord<byte[], byte[]> record : batch) {
                bytes += record.value().length;
                left--;
            }
        }
        return bytes;
    }
}
