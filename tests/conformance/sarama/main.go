// Sarama against a broker: sync and async producer, partition consumer, admin. Reports in TAP.
// Usage: sarama host:port [groups]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

var (
	count  int
	failed bool
	seeds  []string
	run    = fmt.Sprintf("sarama-%d", time.Now().UnixNano())
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

func settings(version sarama.KafkaVersion) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = version
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Metadata.Retry.Max = 30
	return config
}

func send(config *sarama.Config, messages ...*sarama.ProducerMessage) error {
	producer, err := sarama.NewSyncProducer(seeds, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	return producer.SendMessages(messages)
}

func read(config *sarama.Config, topic string, offset int64, wanted int) ([]*sarama.ConsumerMessage, error) {
	consumer, err := sarama.NewConsumer(seeds, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, offset)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	var found []*sarama.ConsumerMessage
	deadline := time.After(30 * time.Second)
	for len(found) < wanted {
		select {
		case message := <-partition.Messages():
			found = append(found, message)
		case <-deadline:
			return nil, fmt.Errorf("only %d of %d came", len(found), wanted)
		}
	}
	return found, nil
}

func main() {
	seeds = []string{os.Args[1]}
	groups := len(os.Args) > 2 && os.Args[2] == "groups"
	admin, err := sarama.NewClusterAdmin(seeds, settings(sarama.V3_6_0_0))
	if err != nil {
		fmt.Printf("not ok 1 - admin # %s\n", err)
		os.Exit(1)
	}
	defer admin.Close()
	topics(admin)
	records(admin)
	if groups {
		group()
	}
	fmt.Printf("1..%d\n", count)
	if failed {
		os.Exit(1)
	}
}

func topics(admin sarama.ClusterAdmin) {
	check("create-topic", func() error {
		value := "3600000"
		detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": &value}}
		if err := admin.CreateTopic(run+"-a", detail, false); err != nil {
			return err
		}
		err := admin.CreateTopic(run+"-a", detail, false)
		return expect(errors.Is(err, sarama.ErrTopicAlreadyExists), "second time", err)
	})
	check("describe", func() error {
		found, err := admin.DescribeTopics([]string{run + "-a"})
		if err != nil {
			return err
		}
		if err := expect(len(found) == 1 && len(found[0].Partitions) == 2, "topics", found); err != nil {
			return err
		}
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: run + "-a", ConfigNames: []string{"retention.ms"}})
		if err != nil {
			return err
		}
		return expect(len(entries) == 1 && entries[0].Value == "3600000", "configs", entries)
	})
	check("partitions", func() error { return admin.CreatePartitions(run+"-a", 4, nil, false) })
	check("delete-topic", func() error {
		if err := admin.DeleteTopic(run + "-a"); err != nil {
			return err
		}
		err := admin.DeleteTopic(run + "-none")
		return expect(errors.Is(err, sarama.ErrUnknownTopicOrPartition), "found", err)
	})
}

func records(admin sarama.ClusterAdmin) {
	codecs := []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD}
	check("every-codec", func() error {
		topic := run + "-codecs"
		if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
			return err
		}
		for _, codec := range codecs {
			config := settings(sarama.V3_6_0_0)
			config.Producer.Compression = codec
			message := &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(codec.String()), Value: sarama.StringEncoder(strings.Repeat("value ", 30)),
				Headers: []sarama.RecordHeader{{Key: []byte("h"), Value: []byte("v")}}}
			if err := send(config, message); err != nil {
				return fmt.Errorf("%s: %w", codec, err)
			}
		}
		found, err := read(settings(sarama.V3_6_0_0), topic, sarama.OffsetOldest, len(codecs))
		if err != nil {
			return err
		}
		for i, message := range found {
			if message.Offset != int64(i) || string(message.Key) != codecs[i].String() || len(message.Headers) != 1 {
				return fmt.Errorf("record %d: %+v", i, message)
			}
		}
		return nil
	})
	check("old-versions", func() error {
		// What a program says that was written for the first version with these records.
		topic := run + "-old"
		config := settings(sarama.V0_11_0_0)
		if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
			return err
		}
		if err := send(config, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("old")}); err != nil {
			return err
		}
		_, err := read(config, topic, 0, 1)
		return err
	})
	check("idempotent", func() error {
		config := settings(sarama.V3_6_0_0)
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
		var messages []*sarama.ProducerMessage
		for i := 0; i < 10; i++ {
			messages = append(messages, &sarama.ProducerMessage{Topic: run + "-codecs", Value: sarama.StringEncoder(fmt.Sprint(i))})
		}
		if err := send(config, messages...); err != nil {
			return err
		}
		return expect(messages[9].Offset == int64(len(codecs)+9), "offset", messages[9].Offset)
	})
	check("offsets", func() error {
		config := settings(sarama.V3_6_0_0)
		opened, err := sarama.NewClient(seeds, config)
		if err != nil {
			return err
		}
		defer opened.Close()
		oldest, err := opened.GetOffset(run+"-codecs", 0, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		newest, err := opened.GetOffset(run+"-codecs", 0, sarama.OffsetNewest)
		if err != nil {
			return err
		}
		return expect(oldest == 0 && newest == int64(len(codecs)+10), "found", oldest, newest)
	})
	check("delete-records", func() error {
		return admin.DeleteRecords(run+"-codecs", map[int32]int64{0: 3})
	})
	check("log-dirs", func() error {
		broker, err := admin.Controller()
		if err != nil {
			return err
		}
		found, err := admin.DescribeLogDirs([]int32{broker.ID()})
		if err != nil {
			return err
		}
		return expect(len(found[broker.ID()]) == 1, "found", found)
	})
}

type once struct{ done chan struct{} }

func (once) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (once) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (o once) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	message := <-claim.Messages()
	session.MarkMessage(message, "")
	session.Commit()
	close(o.done)
	return nil
}

func group() {
	check("group", func() error {
		config := settings(sarama.V3_6_0_0)
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
		member, err := sarama.NewConsumerGroup(seeds, run, config)
		if err != nil {
			return err
		}
		defer member.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return member.Consume(ctx, []string{run + "-codecs"}, once{make(chan struct{})})
	})
}
