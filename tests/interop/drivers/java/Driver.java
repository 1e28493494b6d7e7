import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Driver of Apache Kafka's own clients: the line protocol on one side, their API on the other. */
public final class Driver {
    /** A record as the protocol has it; its bytes are base64. */
    record Row(
            int partition,
            Long offset,
            String key,
            String value,
            List<List<String>> headers,
            Long timestamp) {}

    record Request(
            String verb,
            String topic,
            int partitions,
            Map<String, String> config,
            String codec,
            String acks,
            boolean idempotent,
            List<Row> records,
            int partition,
            JsonElement from,
            int count,
            double seconds,
            long offset,
            String group,
            int session_ms) {}

    record Given(List<Row> records, List<Integer> assignment) {}

    private static final Gson JSON = new GsonBuilder().serializeNulls().create();

    private final String address;
    private TopicPartition place;
    private KafkaConsumer<byte[], byte[]> reader;
    private final Deque<Row> unread = new ArrayDeque<>();
    private KafkaConsumer<byte[], byte[]> member;
    private final Deque<Row> unpolled = new ArrayDeque<>();
    private final Map<Integer, Long> given = new HashMap<>();

    private Driver(String address) {
        this.address = address;
    }

    public static void main(String[] arguments) throws Exception {
        Driver driver = new Driver(arguments[0]);
        InputStreamReader bytes = new InputStreamReader(System.in, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(bytes);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.toJson(driver.answer(JSON.fromJson(line, Request.class))));
        }
        System.exit(0);
    }

    private Map<String, Object> answer(Request request) {
        try {
            return Map.of("ok", execute(request));
        } catch (Exception error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            cause.printStackTrace();
            return Map.of("error", kind(cause), "text", cause.toString());
        }
    }

    private static String kind(Throwable error) {
        // This is how the producer says that a topic does not exist: it waits for it to appear.
        boolean isAbsent = String.valueOf(error.getMessage()).contains("not present in metadata");
        if (error instanceof UnknownTopicOrPartitionException || isAbsent) {
            return "unknown_topic";
        } else if (error instanceof RecordTooLargeException) {
            return "too_large";
        } else if (error instanceof OffsetOutOfRangeException) {
            return "out_of_range";
        } else if (error instanceof CommitFailedException
                || error instanceof RebalanceInProgressException) {
            return "rebalancing";
        }
        return "other";
    }

    private Object execute(Request request) throws Exception {
        switch (request.verb) {
            case "hello":
                return Map.of("client", "java", "version", version());
            case "create":
                create(request);
                break;
            case "delete":
                try (Admin admin = Admin.create(settings(Map.of()))) {
                    admin.deleteTopics(List.of(request.topic)).all().get();
                }
                break;
            case "produce":
                return Map.of("offsets", produce(request));
            case "open":
                open(request);
                break;
            case "read":
                return Map.of("records", take(reader, unread, request));
            case "seek":
                unread.clear();
                reader.seek(place, request.offset);
                break;
            case "join":
                join(request);
                break;
            case "poll":
                return poll(request);
            case "commit":
                commit();
                break;
            case "leave":
                member.close();
                break;
            default:
                throw new IllegalArgumentException(request.verb);
        }
        return Map.of();
    }

    private static String version() throws Exception {
        Properties properties = new Properties();
        try (var stream = Admin.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        return properties.getProperty("version");
    }

    private Map<String, Object> settings(Map<String, Object> others) {
        Map<String, Object> all = new HashMap<>(others);
        all.put("bootstrap.servers", address);
        return all;
    }

    private void create(Request request) throws Exception {
        NewTopic topic = new NewTopic(request.topic, request.partitions, (short) 1);
        try (Admin admin = Admin.create(settings(Map.of()))) {
            admin.createTopics(List.of(topic.configs(request.config))).all().get();
        }
    }

    private List<Long> produce(Request request) throws Exception {
        Map<String, Object> settings = settings(Map.of(
                "compression.type", request.codec,
                "acks", request.acks,
                "enable.idempotence", request.idempotent,
                "max.request.size", 8 << 20,
                // Else it waits a minute for a topic to appear. On a busy machine the first answer,
                // while classes are loaded, took more than three seconds.
                "max.block.ms", 15_000));
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        List<Long> offsets = new ArrayList<>();
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(settings, bytes, bytes)) {
            for (Row row : request.records) {
                sent.add(producer.send(recordOf(request.topic, row)));
            }
            producer.flush();
            for (Future<RecordMetadata> future : sent) {
                RecordMetadata metadata = future.get();
                offsets.add(metadata.hasOffset() ? metadata.offset() : null);
            }
        }
        return offsets;
    }

    private static ProducerRecord<byte[], byte[]> recordOf(String topic, Row row) {
        List<Header> headers = new ArrayList<>();
        for (List<String> pair : row.headers) {
            headers.add(new RecordHeader(pair.get(0), unpack(pair.get(1))));
        }
        return new ProducerRecord<>(
                topic, row.partition, row.timestamp, unpack(row.key), unpack(row.value), headers);
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> settings) {
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        return new KafkaConsumer<>(settings(settings), bytes, bytes);
    }

    private void open(Request request) {
        if (reader != null) {
            reader.close();
        }
        unread.clear();
        reader = consumer(Map.of("auto.offset.reset", "none"));
        place = new TopicPartition(request.topic, request.partition);
        reader.assign(List.of(place));
        reader.seek(place, resolve(request.from));
    }

    private long resolve(JsonElement from) {
        if (from.isJsonPrimitive()) {
            boolean isEnd = from.getAsString().equals("end");
            var list = List.of(place);
            return (isEnd ? reader.endOffsets(list) : reader.beginningOffsets(list)).get(place);
        }
        JsonObject fields = from.getAsJsonObject();
        if (fields.has("offset")) {
            return fields.get("offset").getAsLong();
        }
        return reader.offsetsForTimes(Map.of(place, fields.get("time").getAsLong()))
                .get(place)
                .offset();
    }

    private void join(Request request) {
        given.clear();
        unpolled.clear();
        member = consumer(Map.of(
                "group.id", request.group,
                "session.timeout.ms", request.session_ms,
                "heartbeat.interval.ms", request.session_ms / 6,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false));
        member.subscribe(List.of(request.topic));
    }

    private Given poll(Request request) {
        List<Row> rows = take(member, unpolled, request);
        for (Row row : rows) {
            given.put(row.partition, row.offset + 1);
        }
        List<Integer> assignment =
                member.assignment().stream().map(TopicPartition::partition).sorted().toList();
        return new Given(rows, assignment);
    }

    private void commit() {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition mine : member.assignment()) {
            Long offset = given.get(mine.partition());
            if (offset != null) {
                offsets.put(mine, new OffsetAndMetadata(offset));
            }
        }
        member.commitSync(offsets);
    }

    /** Up to so many records within the time; what a poll has brought beyond them is kept. */
    private static List<Row> take(
            KafkaConsumer<byte[], byte[]> consumer, Deque<Row> kept, Request request) {
        long deadline = System.nanoTime() + (long) (request.seconds * 1e9);
        long left = (long) (request.seconds * 1e9);
        while (kept.size() < request.count && left > 0) {
            for (var record : consumer.poll(Duration.ofNanos(left))) {
                kept.add(rowOf(record));
            }
            left = deadline - System.nanoTime();
        }
        List<Row> rows = new ArrayList<>();
        while (rows.size() < request.count && !kept.isEmpty()) {
            rows.add(kept.remove());
        }
        return rows;
    }

    private static Row rowOf(ConsumerRecord<byte[], byte[]> record) {
        List<List<String>> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<String> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(pack(header.value()));
            headers.add(pair);
        }
        return new Row(
                record.partition(),
                record.offset(),
                pack(record.key()),
                pack(record.value()),
                headers,
                record.timestamp());
    }

    private static byte[] unpack(String text) {
        return text == null ? null : Base64.getDecoder().decode(text);
    }

    private static String pack(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }
}
