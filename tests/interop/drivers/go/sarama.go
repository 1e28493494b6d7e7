// The verbs, in terms of Sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// electionAttempts is the number of attempts, 0.1 and 0.25 s apart, that outlasts an election.
const electionAttempts = 100

type saramaDriver struct {
	address   string
	client    sarama.Client
	consumer  sarama.Consumer
	partition sarama.PartitionConsumer
	at        request
	member    *saramaMember
}

func saramaRefusal(err error) error {
	for code, kind := range map[error]string{
		sarama.ErrUnknownTopicOrPartition: "unknown_topic",
		sarama.ErrMessageSizeTooLarge:     "too_large",
		sarama.ErrOffsetOutOfRange:        "out_of_range",
	} {
		if errors.Is(err, code) {
			return refusal{kind, err}
		}
	}
	return err
}

// settings are those for the newest protocol the client knows, as it advises.
func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}

func (s *saramaDriver) admin(work func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin([]string{s.address}, settings())
	if err != nil {
		return err
	}
	defer admin.Close()
	return saramaRefusal(work(admin))
}

func (s *saramaDriver) create(r request) error {
	return s.admin(func(admin sarama.ClusterAdmin) error {
		config := map[string]*string{}
		for name, value := range r.Config {
			config[name] = &value
		}
		detail := &sarama.TopicDetail{
			NumPartitions: r.Partitions, ReplicationFactor: 1, ConfigEntries: config,
		}
		return admin.CreateTopic(r.Topic, detail, false)
	})
}

func (s *saramaDriver) delete(r request) error {
	return s.admin(func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(r.Topic) })
}

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var saramaAcks = map[string]sarama.RequiredAcks{
	"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll,
}

func (s *saramaDriver) produce(r request) ([]*int64, error) {
	config := settings()
	config.Producer.Compression = saramaCodecs[r.Codec]
	config.Producer.RequiredAcks = saramaAcks[r.Acks]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = maxAttempts
	if r.Idempotent {
		// It would give up before another leader is elected.
		config.Producer.Retry.Max = electionAttempts
		config.Metadata.Retry.Max = electionAttempts
		config.Producer.Idempotent = true
		// It refuses more: it cannot keep the order of several.
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewSyncProducer([]string{s.address}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	sent := make([]*sarama.ProducerMessage, len(r.Records))
	for i, record := range r.Records {
		sent[i] = saramaMessage(r.Topic, record)
	}
	if err := producer.SendMessages(sent); err != nil {
		var all sarama.ProducerErrors
		if errors.As(err, &all) {
			err = all[0].Err
		}
		return nil, saramaRefusal(err)
	}
	offsets := make([]*int64, len(sent))
	for i, message := range sent {
		if r.Acks != "0" {
			offsets[i] = &message.Offset
		}
	}
	return offsets, nil
}

func saramaMessage(topic string, r record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{Topic: topic, Partition: r.Partition}
	if r.Key != nil {
		message.Key = sarama.ByteEncoder(r.Key)
	}
	if r.Value != nil {
		message.Value = sarama.ByteEncoder(r.Value)
	}
	for _, h := range r.Headers {
		made := sarama.RecordHeader{Key: []byte(h.name), Value: h.value}
		message.Headers = append(message.Headers, made)
	}
	if r.Timestamp != nil {
		message.Timestamp = time.UnixMilli(*r.Timestamp)
	}
	return message
}

func (s *saramaDriver) open(r request) (err error) {
	s.close()
	s.at = r
	config := settings()
	config.Consumer.Return.Errors = true
	if s.client, err = sarama.NewClient([]string{s.address}, config); err != nil {
		return err
	}
	if s.consumer, err = sarama.NewConsumerFromClient(s.client); err != nil {
		return err
	}
	offset, err := s.resolve(r)
	if err != nil {
		return saramaRefusal(err)
	}
	return s.consumeAt(offset)
}

func (s *saramaDriver) consumeAt(offset int64) (err error) {
	s.partition, err = s.consumer.ConsumePartition(s.at.Topic, s.at.Partition, offset)
	return saramaRefusal(err)
}

func (s *saramaDriver) resolve(r request) (int64, error) {
	switch {
	case r.From.Offset != nil:
		return *r.From.Offset, nil
	case r.From.Time != nil:
		return s.client.GetOffset(r.Topic, r.Partition, *r.From.Time)
	case r.From.end == "end":
		return s.client.GetOffset(r.Topic, r.Partition, sarama.OffsetNewest)
	}
	return s.client.GetOffset(r.Topic, r.Partition, sarama.OffsetOldest)
}

func (s *saramaDriver) close() {
	if s.partition != nil {
		s.partition.Close()
		s.partition = nil
	}
	if s.client != nil {
		s.consumer.Close()
		s.client.Close()
		s.client = nil
	}
}

func (s *saramaDriver) read(r request) ([]record, error) {
	records := []record{}
	over := time.After(r.wait())
	for len(records) < r.Count {
		select {
		case message := <-s.partition.Messages():
			records = append(records, recordOfSarama(message))
		case failed := <-s.partition.Errors():
			return nil, saramaRefusal(failed.Err)
		case <-over:
			return records, nil
		}
	}
	return records, nil
}

func recordOfSarama(message *sarama.ConsumerMessage) record {
	timestamp := message.Timestamp.UnixMilli()
	made := record{
		Partition: message.Partition, Offset: message.Offset, Key: message.Key,
		Value: message.Value, Headers: []header{}, Timestamp: &timestamp,
	}
	for _, h := range message.Headers {
		made.Headers = append(made.Headers, header{string(h.Key), h.Value})
	}
	return made
}

// seek begins anew: a partition consumer of this client cannot be moved.
func (s *saramaDriver) seek(r request) error {
	if err := s.partition.Close(); err != nil {
		return err
	}
	return s.consumeAt(r.Offset)
}

// saramaMember is a member of a group; a session's claims push into one channel.
type saramaMember struct {
	group    sarama.ConsumerGroup
	cancel   context.CancelFunc
	done     chan struct{}
	messages chan *sarama.ConsumerMessage
	assigned *assigned
	lock     sync.Mutex
	session  sarama.ConsumerGroupSession
}

func (s *saramaDriver) join(r request) error {
	config := settings()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = time.Duration(r.SessionMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = config.Consumer.Group.Session.Timeout / 6
	group, err := sarama.NewConsumerGroup([]string{s.address}, r.Group, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	member := &saramaMember{
		group: group, cancel: cancel, done: make(chan struct{}),
		messages: make(chan *sarama.ConsumerMessage),
		assigned: &assigned{partitions: map[int32]bool{}},
	}
	s.member = member
	go func() {
		defer close(member.done)
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{r.Topic}, member); err != nil {
				fmt.Fprintln(os.Stderr, "consume:", err)
			}
		}
	}()
	return nil
}

// Setup is called when the member has got its partitions.
func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = session
	for _, partitions := range session.Claims() {
		m.assigned.set(partitions, true)
	}
	return nil
}

// Cleanup is called when they are taken away again.
func (m *saramaMember) Cleanup(session sarama.ConsumerGroupSession) error {
	for _, partitions := range session.Claims() {
		m.assigned.set(partitions, false)
	}
	return nil
}

// ConsumeClaim is called for each partition.
func (m *saramaMember) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			select {
			case m.messages <- message:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (s *saramaDriver) poll(r request) ([]record, []int32, error) {
	records := []record{}
	over := time.After(r.wait())
	for len(records) < r.Count {
		select {
		case message := <-s.member.messages:
			s.member.mark(message)
			records = append(records, recordOfSarama(message))
		case <-over:
			return records, s.member.assigned.list(), nil
		}
	}
	return records, s.member.assigned.list(), nil
}

// mark notes what was given out, for the session it came in.
func (m *saramaMember) mark(message *sarama.ConsumerMessage) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session.MarkMessage(message, "")
}

// commit sends the marks; this client reports what fails on its channel of errors only.
func (s *saramaDriver) commit() error {
	s.member.lock.Lock()
	defer s.member.lock.Unlock()
	s.member.session.Commit()
	return nil
}

func (s *saramaDriver) leave() error {
	s.member.cancel()
	<-s.member.done
	return s.member.group.Close()
}
