package study;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A durable queue of RabbitMQ with persistent messages, by its own Java client. */
final class RabbitPeer implements Peer {
    private static final AMQP.BasicProperties PERSISTENT =
            new AMQP.BasicProperties.Builder().deliveryMode(2).build();
    private final Work work;
    private final String kind;
    private final Connection connection;

    RabbitPeer(Work work, String kind) throws Exception {
        this.work = work;
        this.kind = kind;
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost(work.host());
        factory.setPort(work.port());
        factory.setAutomaticRecoveryEnabled(false);
        connection = factory.newConnection();
    }

    @Override
    public void create() throws Exception {
        try (Channel channel = connection.createChannel()) {
            Map<String, Object> arguments = Map.of("x-queue-type", kind);
            channel.queueDeclare(work.topic(), true, false, false, arguments);
        }
    }

    @Override
    public Sender sender() throws Exception {
        return new RabbitSender(connection.createChannel());
    }

    @Override
    public Receiver receiver() throws Exception {
        Channel channel = connection.createChannel();
        channel.basicQos(work.prefetchRecords());
        BlockingQueue<byte[]> arrived = new ArrayBlockingQueue<>(work.prefetchRecords());
        channel.basicConsume(work.topic(), true, new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(
                    String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body) {
                try {
                    arrived.put(body);
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        return new QueueReceiver(arrived, channel::abort);
    }

    @Override
    public void close() throws Exception {
        connection.abort(5000);
    }

    private final class RabbitSender implements Sender {
        private final Channel channel;
        private final Window window = new Window(work.inFlight());
        private long sent;
        /** All messages up to this one are confirmed, and those beyond it that are kept here. */
        private long confirmed;
        private final TreeSet<Long> overtaking = new TreeSet<>();

        RabbitSender(Channel channel) throws Exception {
            this.channel = channel;
            if (work.isAcknowledged()) {
                channel.confirmSelect();
                channel.addConfirmListener(this::confirm, (tag, multiple) ->
                        window.fail(new IllegalStateException("RabbitMQ refused a message")));
            }
        }

        /** Confirms without `multiple` may overtake others. */
        private void confirm(long tag, boolean multiple) {
            long before = confirmed + overtaking.size();
            if (multiple) {
                confirmed = Math.max(confirmed, tag);
                overtaking.headSet(tag, true).clear();
            } else {
                overtaking.add(tag);
            }
            while (overtaking.remove(confirmed + 1)) {
                confirmed++;
            }
            window.free((int) (confirmed + overtaking.size() - before));
        }

        @Override
        public void send(byte[] value) throws Exception {
            if (work.isAcknowledged()) {
                window.take();
            }
            channel.basicPublish("", work.topic(), PERSISTENT, value);
            sent++;
        }

        @Override
        public void finish() throws Exception {
            if (work.isAcknowledged()) {
                window.drain();
                return;
            }
            // Without confirms, the queue's length says whether all have arrived.
            while (channel.queueDeclarePassive(work.topic()).getMessageCount() < sent) {
                Thread.sleep(1);
            }
        }

        @Override
        public void close() throws Exception {
            channel.abort();
        }
    }
}
