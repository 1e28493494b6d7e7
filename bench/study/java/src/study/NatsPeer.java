package study;

import io.nats.client.Connection;
import io.nats.client.JetStream;
import io.nats.client.JetStreamOptions;
import io.nats.client.JetStreamSubscription;
import io.nats.client.Message;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.PublishOptions;
import io.nats.client.PushSubscribeOptions;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.function.Consumer;

/** A JetStream stream in files, by the Java client of NATS. */
final class NatsPeer implements Peer {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private final Work work;
    private final Connection connection;

    NatsPeer(Work work) throws Exception {
        this.work = work;
        Options options = new Options.Builder()
                .server("nats://" + work.address())
                .maxMessagesInOutgoingQueue(work.inFlight() * 2 + 1000)
                .build();
        connection = Nats.connect(options);
    }

    @Override
    public void create() throws Exception {
        connection.jetStreamManagement().addStream(StreamConfiguration.builder()
                .name(work.topic())
                .subjects(work.topic())
                .storageType(StorageType.File)
                .build());
    }

    @Override
    public Sender sender() throws Exception {
        return new JetStreamSender();
    }

    @Override
    public Receiver receiver() throws Exception {
        // An ordered consumer needs no acknowledgements, and is the fastest way to read a stream.
        PushSubscribeOptions ordered = PushSubscribeOptions.builder().ordered(true).build();
        JetStreamSubscription subscription =
                connection.jetStream().subscribe(work.topic(), ordered);
        subscription.setPendingLimits(0, 0);
        return new Receiver() {
            @Override
            public void receive(Consumer<byte[]> sink) throws Exception {
                Message message = subscription.nextMessage(Duration.ofSeconds(1));
                for (int count = 1; message != null; count++) {
                    sink.accept(message.getData());
                    boolean isFull = count == AT_ONCE;
                    message = isFull ? null : subscription.nextMessage(null);
                }
            }

            @Override
            public void close() throws Exception {
                subscription.unsubscribe();
            }
        };
    }

    @Override
    public void close() throws Exception {
        connection.close();
    }

    private final class JetStreamSender implements Sender {
        private final JetStream stream =
                connection.jetStream(JetStreamOptions.builder().requestTimeout(PATIENCE).build());
        private final PublishOptions options =
                PublishOptions.builder().streamTimeout(PATIENCE).build();
        private final Window window = new Window(work.inFlight());
        private long sent;

        JetStreamSender() throws Exception {}

        @Override
        public void send(byte[] value) throws Exception {
            sent++;
            if (!work.isAcknowledged()) {
                connection.publish(work.topic(), value);
                return;
            }
            window.take();
            stream.publishAsync(work.topic(), value, options).whenComplete((answer, error) -> {
                if (error == null) {
                    window.free(1);
                } else {
                    window.fail(error);
                }
            });
        }

        @Override
        public void finish() throws Exception {
            if (work.isAcknowledged()) {
                window.drain();
                return;
            }
            connection.flush(PATIENCE);
            while (stored() < sent) {
                Thread.sleep(1);
            }
        }

        private long stored() throws Exception {
            return connection.jetStreamManagement()
                    .getStreamInfo(work.topic()).getStreamState().getMsgCount();
        }

        @Override
        public void close() {}
    }
}
