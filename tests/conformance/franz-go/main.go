// franz-go against a broker: produce, consume partitions, admin. Reports in TAP.
// Usage: franz-go host:port [groups]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	count  int
	failed bool
	ctx    context.Context
	seeds  string
	run    = fmt.Sprintf("franz-%d", time.Now().UnixNano())
)

func check(name string, body func() error) {
	count++
	if err := body(); err != nil {
		failed = true
		fmt.Printf("not ok %d - %s # %s\n", count, name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("ok %d - %s\n", count, name)
}

func expect(fact bool, words string, found ...any) error {
	if fact {
		return nil
	}
	return fmt.Errorf("%s: %v", words, found)
}

func client(options ...kgo.Opt) *kgo.Client {
	opened, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds),
		kgo.UnknownTopicRetries(50), // Apache Kafka answers before all of it knows a new topic
		kgo.RetryTimeout(30 * time.Second),
	}, options...)...)
	if err != nil {
		panic(err)
	}
	return opened
}

func read(from *kgo.Client, wanted int) ([]*kgo.Record, error) {
	var found []*kgo.Record
	for len(found) < wanted {
		fetches := from.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		found = append(found, fetches.Records()...)
	}
	return found, nil
}

func from(topic string, partition int32, offset kgo.Offset) kgo.Opt {
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: offset}})
}

func main() {
	seeds = os.Args[1]
	groups := len(os.Args) > 2 && os.Args[2] == "groups"
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	plain := client()
	defer plain.Close()
	admin := kadm.NewClient(plain)
	topics(admin)
	records(admin)
	insides(admin)
	if groups {
		coordinators(admin)
	}
	fmt.Printf("1..%d\n", count)
	if failed {
		os.Exit(1)
	}
}

func topics(admin *kadm.Client) {
	check("create-topic", func() error {
		value := "3600000"
		made, err := admin.CreateTopic(ctx, 3, 1, map[string]*string{"retention.ms": &value}, run+"-a")
		if err != nil {
			return err
		}
		if err := expect(made.NumPartitions == 3, "partitions", made); err != nil {
			return err
		}
		_, err = admin.CreateTopic(ctx, 3, 1, nil, run+"-a")
		return expect(errors.Is(err, kerr.TopicAlreadyExists), "second time", err)
	})
	check("invalid-topic", func() error {
		_, err := admin.CreateTopic(ctx, 1, 1, nil, "a/b")
		return expect(errors.Is(err, kerr.InvalidTopicException), "found", err)
	})
	check("metadata", func() error {
		cluster, err := admin.Metadata(ctx, run+"-a")
		if err != nil {
			return err
		}
		return expect(len(cluster.Brokers) == 1 && len(cluster.Topics[run+"-a"].Partitions) == 3, "found", cluster)
	})
	check("configs", func() error {
		altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "segment.ms", Value: kadm.StringPtr("60000")}}, run+"-a")
		if err != nil {
			return err
		}
		if altered[0].Err != nil {
			return altered[0].Err
		}
		found, err := admin.DescribeTopicConfigs(ctx, run+"-a")
		if err != nil {
			return err
		}
		values := map[string]string{}
		for _, config := range found[0].Configs {
			values[config.Key] = config.MaybeValue()
		}
		return expect(values["retention.ms"] == "3600000", "found", values)
	})
	check("create-partitions", func() error {
		made, err := admin.CreatePartitions(ctx, 2, run+"-a")
		if err != nil {
			return err
		}
		return made.Error()
	})
}

func records(admin *kadm.Client) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	check("every-codec", func() error {
		topic := run + "-codecs"
		if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
			return err
		}
		for name, codec := range codecs {
			producer := client(kgo.ProducerBatchCompression(codec))
			sent := producer.ProduceSync(ctx, &kgo.Record{
				Topic: topic, Key: []byte(name), Value: []byte(strings.Repeat("value ", 30)),
				Headers: []kgo.RecordHeader{{Key: "h", Value: nil}},
			})
			producer.Close()
			if err := sent.FirstErr(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		consumer := client(from(topic, 0, kgo.NewOffset().AtStart()))
		defer consumer.Close()
		found, err := read(consumer, len(codecs))
		if err != nil {
			return err
		}
		for i, record := range found {
			if record.Offset != int64(i) || len(record.Value) != 180 || len(record.Headers) != 1 {
				return fmt.Errorf("record %d: %+v", i, record)
			}
		}
		return nil
	})
	check("acks", func() error {
		topic := run + "-acks"
		if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
			return err
		}
		for _, acks := range []kgo.Acks{kgo.NoAck(), kgo.LeaderAck(), kgo.AllISRAcks()} {
			producer := client(kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite())
			err := producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr()
			producer.Close()
			if err != nil {
				return err
			}
		}
		consumer := client(from(topic, 0, kgo.NewOffset().AtStart()))
		defer consumer.Close()
		_, err := read(consumer, 3)
		return err
	})
	check("positions", func() error {
		topic := run + "-times"
		if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil {
			return err
		}
		producer := client()
		defer producer.Close()
		base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
		for _, step := range []int{10, 30, 20, 15, 40} {
			record := &kgo.Record{Topic: topic, Value: []byte(fmt.Sprint(step)), Timestamp: base.Add(time.Duration(step) * time.Millisecond)}
			if err := producer.ProduceSync(ctx, record).FirstErr(); err != nil {
				return err
			}
		}
		consumer := client(from(topic, 0, kgo.NewOffset().AfterMilli(base.UnixMilli()+16)))
		defer consumer.Close()
		found, err := read(consumer, 1)
		if err != nil {
			return err
		}
		if err := expect(found[0].Offset == 1, "by time", found[0]); err != nil {
			return err
		}
		listed, err := admin.ListMaxTimestampOffsets(ctx, topic)
		if err != nil {
			return err
		}
		largest, _ := listed.Lookup(topic, 0)
		return expect(largest.Offset == 4, "largest timestamp", largest)
	})
	check("auto-create", func() error {
		producer := client(kgo.AllowAutoTopicCreation())
		defer producer.Close()
		return producer.ProduceSync(ctx, &kgo.Record{Topic: run + "-auto", Value: []byte("x")}).FirstErr()
	})
	check("too-large", func() error {
		topic := run + "-small"
		value := "500"
		if _, err := admin.CreateTopic(ctx, 1, 1, map[string]*string{"max.message.bytes": &value}, topic); err != nil {
			return err
		}
		producer := client(kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer producer.Close()
		err := producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: make([]byte, 1000)}).FirstErr()
		return expect(errors.Is(err, kerr.MessageTooLarge), "found", err)
	})
}

func insides(admin *kadm.Client) {
	check("delete-records", func() error {
		topic := run + "-codecs"
		deleted, err := admin.DeleteRecords(ctx, kadm.Offsets{topic: {0: kadm.Offset{Topic: topic, Partition: 0, At: 2}}})
		if err != nil {
			return err
		}
		low, _ := deleted.Lookup(topic, 0)
		if low.Err != nil {
			return low.Err
		}
		return expect(low.LowWatermark == 2, "low watermark", low)
	})
	check("describe-producers", func() error {
		_, err := admin.DescribeProducers(ctx, kadm.TopicsSet{run + "-codecs": {0: {}}})
		return err
	})
	check("log-dirs", func() error {
		found, err := admin.DescribeAllLogDirs(ctx, nil)
		if err != nil {
			return err
		}
		return expect(len(found) == 1, "found", found)
	})
	check("broker-versions", func() error {
		versions, err := admin.ApiVersions(ctx)
		if err != nil {
			return err
		}
		return expect(len(versions) == 1, "found", versions)
	})
	check("delete-topics", func() error {
		_, err := admin.DeleteTopic(ctx, run+"-a")
		if err != nil {
			return err
		}
		_, err = admin.DeleteTopic(ctx, run+"-none")
		return expect(errors.Is(err, kerr.UnknownTopicOrPartition), "found", err)
	})
}

func coordinators(admin *kadm.Client) {
	check("group", func() error {
		member := client(kgo.ConsumerGroup(run), kgo.ConsumeTopics(run+"-acks"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
		defer member.Close()
		if _, err := read(member, 3); err != nil {
			return err
		}
		if err := member.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		if _, err := admin.DescribeGroups(ctx, run); err != nil {
			return err
		}
		_, err := admin.FetchOffsets(ctx, run)
		return err
	})
	check("transaction", func() error {
		producer := client(kgo.TransactionalID(run))
		defer producer.Close()
		if err := producer.BeginTransaction(); err != nil {
			return err
		}
		if err := producer.ProduceSync(ctx, &kgo.Record{Topic: run + "-acks", Value: []byte("t")}).FirstErr(); err != nil {
			return err
		}
		return producer.EndTransaction(ctx, kgo.TryCommit)
	})
}
