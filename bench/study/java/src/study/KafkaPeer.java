package study;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Any broker that speaks Kafka's protocol, by Apache Kafka's own client. */
final class KafkaPeer implements Peer {
    /** What a record and a batch take beyond the value. */
    private static final int RECORD_OVERHEAD = 16;
    private static final int BATCH_OVERHEAD = 61;
    private final Work work;
    private final List<TopicPartition> partitions;

    KafkaPeer(Work work) {
        this.work = work;
        partitions = IntStream.range(0, work.partitions())
                .mapToObj(index -> new TopicPartition(work.topic(), index)).toList();
    }

    @Override
    public void create() throws Exception {
        try (Admin admin = Admin.create(connection())) {
            NewTopic topic = new NewTopic(work.topic(), work.partitions(), (short) 1);
            admin.createTopics(List.of(topic)).all().get();
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof TopicExistsException)) {
                throw error;
            }
        }
    }

    @Override
    public Sender sender() {
        Properties settings = connection();
        int size = work.batch() * (work.recordBytes() + RECORD_OVERHEAD) + BATCH_OVERHEAD;
        settings.put("acks", work.isAcknowledged() ? "all" : "0");
        settings.put("enable.idempotence", "false");
        settings.put("batch.size", Integer.toString(work.batch() == 1 ? 0 : size));
        settings.put("linger.ms", work.batch() == 1 ? "0" : "5");
        settings.put("buffer.memory", "134217728");
        settings.put("max.request.size", "8388608");
        settings.put("max.in.flight.requests.per.connection", Integer.toString(work.inFlight()));
        var bytes = new ByteArraySerializer();
        return new KafkaSender(new KafkaProducer<>(settings, bytes, bytes));
    }

    @Override
    public Receiver receiver() {
        KafkaConsumer<byte[], byte[]> consumer = consumer();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        partitions.forEach(consumer::position);
        return new Receiver() {
            @Override
            public void receive(Consumer<byte[]> sink) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    sink.accept(record.value());
                }
            }

            @Override
            public void close() {
                consumer.close();
            }
        };
    }

    @Override
    public void close() {}

    private KafkaConsumer<byte[], byte[]> consumer() {
        Properties settings = connection();
        settings.put("max.partition.fetch.bytes", Integer.toString(work.prefetchBytes()));
        settings.put("max.poll.records", Integer.toString(Receiver.AT_ONCE));
        settings.put("enable.auto.commit", "false");
        var bytes = new ByteArrayDeserializer();
        return new KafkaConsumer<>(settings, bytes, bytes);
    }

    private Properties connection() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", work.address());
        return settings;
    }

    private final class KafkaSender implements Sender {
        private final KafkaProducer<byte[], byte[]> producer;
        private final Window window = new Window(work.inFlight() * work.batch());
        private final long before;
        private long sent;

        KafkaSender(KafkaProducer<byte[], byte[]> producer) {
            this.producer = producer;
            before = end();
        }

        @Override
        public void send(byte[] value) throws Exception {
            int partition = (int) (sent / work.batch() % work.partitions());
            window.take();
            producer.send(new ProducerRecord<>(work.topic(), partition, null, value), (at, error) -> {
                if (error == null) {
                    window.free(1);
                } else {
                    window.fail(error);
                }
            });
            sent++;
        }

        @Override
        public void finish() throws Exception {
            producer.flush();
            window.drain();
            while (!work.isAcknowledged() && end() < before + sent) {
                Thread.sleep(1);
            }
        }

        private long end() {
            if (work.isAcknowledged()) {
                return 0;
            }
            try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
                Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
                return ends.values().stream().mapToLong(Long::longValue).sum();
            }
        }

        @Override
        public void close() {
            producer.close();
        }
    }
}
