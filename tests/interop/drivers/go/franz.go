// The verbs, in terms of franz-go.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	patience    = 20 * time.Second
	maxAttempts = 2
)

type franz struct {
	address   string
	reader    *kgo.Client
	member    *kgo.Client
	topic     string
	partition int32
	given     map[int32]kgo.EpochOffset
	group     string
	assigned  *assigned
}

func franzRefusal(err error) error {
	for code, kind := range map[error]string{
		kerr.UnknownTopicOrPartition: "unknown_topic",
		kerr.MessageTooLarge:         "too_large",
		kerr.OffsetOutOfRange:        "out_of_range",
		kerr.IllegalGeneration:       "rebalancing",
		kerr.UnknownMemberID:         "rebalancing",
		kerr.RebalanceInProgress:     "rebalancing",
		context.DeadlineExceeded:     "timeout",
	} {
		if errors.Is(err, code) {
			return refusal{kind, err}
		}
	}
	return err
}

func (f *franz) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(f.address))...)
}

// admin runs work with an administrative client of its own.
func (f *franz) admin(work func(context.Context, *kadm.Client) error) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return franzRefusal(work(ctx, kadm.NewClient(client)))
}

func (f *franz) create(r request) error {
	return f.admin(func(ctx context.Context, admin *kadm.Client) error {
		config := map[string]*string{}
		for name, value := range r.Config {
			config[name] = &value
		}
		_, err := admin.CreateTopic(ctx, r.Partitions, 1, config, r.Topic)
		return err
	})
}

func (f *franz) delete(r request) error {
	return f.admin(func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.DeleteTopic(ctx, r.Topic)
		return err
	})
}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var franzAcks = map[string]kgo.Acks{
	"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks(),
}

func (f *franz) produce(r request) ([]*int64, error) {
	options := []kgo.Opt{
		kgo.ProducerBatchCompression(franzCodecs[r.Codec]),
		kgo.RequiredAcks(franzAcks[r.Acks]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.AllowAutoTopicCreation(),
		// Else it asks for an unknown topic without end.
		kgo.UnknownTopicRetries(maxAttempts),
	}
	if !r.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := f.client(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sent := make([]*kgo.Record, len(r.Records))
	for i, record := range r.Records {
		sent[i] = franzRecord(r.Topic, record)
	}
	if err := client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		return nil, franzRefusal(err)
	}
	offsets := make([]*int64, len(sent))
	for i, record := range sent {
		if r.Acks != "0" {
			offsets[i] = &record.Offset
		}
	}
	return offsets, nil
}

func franzRecord(topic string, r record) *kgo.Record {
	made := &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		made.Headers = append(made.Headers, kgo.RecordHeader{Key: h.name, Value: h.value})
	}
	if r.Timestamp != nil {
		made.Timestamp = time.UnixMilli(*r.Timestamp)
	}
	return made
}

func (f *franz) open(r request) error {
	if f.reader != nil {
		f.reader.Close()
	}
	f.topic, f.partition = r.Topic, r.Partition
	offset, err := f.resolve(r)
	if err != nil {
		return err
	}
	at := map[string]map[int32]kgo.Offset{r.Topic: {r.Partition: offset}}
	f.reader, err = f.client(
		kgo.ConsumePartitions(at),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepRetryableFetchErrors(),
	)
	return err
}

// resolve asks for the offset now, so that what is produced after the answer is read.
func (f *franz) resolve(r request) (kgo.Offset, error) {
	if r.From.Offset != nil {
		return kgo.NewOffset().At(*r.From.Offset), nil
	}
	var listed kadm.ListedOffsets
	err := f.admin(func(ctx context.Context, admin *kadm.Client) (err error) {
		switch {
		case r.From.Time != nil:
			listed, err = admin.ListOffsetsAfterMilli(ctx, *r.From.Time, r.Topic)
		case r.From.end == "end":
			listed, err = admin.ListEndOffsets(ctx, r.Topic)
		default:
			listed, err = admin.ListStartOffsets(ctx, r.Topic)
		}
		if err == nil {
			err = listed.Error()
		}
		return err
	})
	found, _ := listed.Lookup(r.Topic, r.Partition)
	return kgo.NewOffset().At(found.Offset), err
}

func (f *franz) read(r request) ([]record, error) {
	return f.take(f.reader, r)
}

// take gives out up to so many records within the time, at most those of one poll at once.
func (f *franz) take(client *kgo.Client, r request) ([]record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.wait())
	defer cancel()
	records := []record{}
	for len(records) < r.Count && ctx.Err() == nil {
		fetches := client.PollRecords(ctx, r.Count-len(records))
		for _, failed := range fetches.Errors() {
			if !errors.Is(failed.Err, context.DeadlineExceeded) {
				return nil, franzRefusal(failed.Err)
			}
		}
		fetches.EachRecord(func(found *kgo.Record) {
			records = append(records, recordOfFranz(found))
		})
	}
	return records, nil
}

func recordOfFranz(found *kgo.Record) record {
	timestamp := found.Timestamp.UnixMilli()
	made := record{
		Partition: found.Partition, Offset: found.Offset, Key: found.Key, Value: found.Value,
		Headers: []header{}, Timestamp: &timestamp,
	}
	for _, h := range found.Headers {
		made.Headers = append(made.Headers, header{h.Key, h.Value})
	}
	return made
}

func (f *franz) seek(r request) error {
	at := kgo.EpochOffset{Epoch: -1, Offset: r.Offset}
	f.reader.SetOffsets(map[string]map[int32]kgo.EpochOffset{f.topic: {f.partition: at}})
	return nil
}

func (f *franz) join(r request) (err error) {
	f.assigned = &assigned{partitions: map[int32]bool{}}
	f.given, f.group, f.topic = map[int32]kgo.EpochOffset{}, r.Group, r.Topic
	session := time.Duration(r.SessionMs) * time.Millisecond
	change := func(is bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			f.assigned.set(changed[r.Topic], is)
		}
	}
	f.member, err = f.client(
		kgo.ConsumerGroup(r.Group),
		kgo.ConsumeTopics(r.Topic),
		kgo.SessionTimeout(session),
		kgo.HeartbeatInterval(session/6),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(change(true)),
		kgo.OnPartitionsRevoked(change(false)),
		kgo.OnPartitionsLost(change(false)),
	)
	return err
}

func (f *franz) poll(r request) ([]record, []int32, error) {
	records, err := f.take(f.member, r)
	for _, found := range records {
		f.given[found.Partition] = kgo.EpochOffset{Epoch: -1, Offset: found.Offset + 1}
	}
	return records, f.assigned.list(), err
}

func (f *franz) commit() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mine := map[int32]kgo.EpochOffset{}
	for _, partition := range f.assigned.list() {
		if offset, ok := f.given[partition]; ok {
			mine[partition] = offset
		}
	}
	var failed error
	f.member.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{f.topic: mine},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
			failed = err
		})
	return franzRefusal(failed)
}

func (f *franz) leave() error {
	f.member.Close()
	return nil
}
