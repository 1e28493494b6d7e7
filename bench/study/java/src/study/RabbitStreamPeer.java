package study;

import com.rabbitmq.stream.Address;
import com.rabbitmq.stream.ByteCapacity;
import com.rabbitmq.stream.ConfirmationHandler;
import com.rabbitmq.stream.ConsumerFlowStrategy;
import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.OffsetSpecification;
import com.rabbitmq.stream.Producer;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A stream of RabbitMQ, by its own Java client; every message is confirmed. */
final class RabbitStreamPeer implements Peer {
    /** Chunks that the broker may send ahead, as the client's documentation advises for rate. */
    private static final int CREDITS = 10;
    private final Work work;
    private final Environment environment;

    RabbitStreamPeer(Work work) {
        this.work = work;
        Address address = new Address(work.host(), work.port());
        environment = Environment.builder()
                .host(work.host())
                .port(work.port())
                .addressResolver(advertised -> address)
                .build();
    }

    @Override
    public void create() {
        environment.streamCreator()
                .stream(work.topic())
                .maxLengthBytes(ByteCapacity.TB(1))
                .create();
    }

    @Override
    public Sender sender() {
        return new StreamSender();
    }

    @Override
    public Receiver receiver() {
        BlockingQueue<byte[]> arrived = new ArrayBlockingQueue<>(1 << 16);
        var consumer = environment.consumerBuilder()
                .stream(work.topic())
                .offset(OffsetSpecification.first())
                .flow()
                .strategy(ConsumerFlowStrategy.creditOnChunkArrival(CREDITS))
                .builder()
                .messageHandler((context, message) -> {
                    try {
                        arrived.put(message.getBodyAsBinary());
                    } catch (InterruptedException error) {
                        Thread.currentThread().interrupt();
                    }
                })
                .build();
        return new QueueReceiver(arrived, () -> {
            arrived.clear();
            consumer.close();
        });
    }

    @Override
    public void close() {
        environment.close();
    }

    private final class StreamSender implements Sender {
        private final Window window = new Window(work.inFlight() * work.batch());
        private final ConfirmationHandler handler = status -> {
            if (status.isConfirmed()) {
                window.free(1);
            } else {
                window.fail(new IllegalStateException("code " + status.getCode()));
            }
        };
        private final Producer producer = environment.producerBuilder()
                .stream(work.topic())
                .dynamicBatch(false)
                .batchSize(work.batch())
                .batchPublishingDelay(Duration.ofMillis(work.batch() == 1 ? 0 : 5))
                .maxUnconfirmedMessages(work.inFlight() * work.batch())
                .build();

        @Override
        public void send(byte[] value) throws Exception {
            window.take();
            producer.send(producer.messageBuilder().addData(value).build(), handler);
        }

        @Override
        public void finish() throws Exception {
            window.drain();
        }

        @Override
        public void close() {
            producer.close();
        }
    }
}
