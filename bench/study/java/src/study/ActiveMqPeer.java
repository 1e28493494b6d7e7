package study;

import jakarta.jms.BytesMessage;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.Session;
import java.util.function.Consumer;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQMessageConsumer;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.AsyncCallback;

/** A queue of ActiveMQ with persistent messages, by its own JMS client over OpenWire. */
final class ActiveMqPeer implements Peer {
    private final Work work;
    private final ActiveMQConnection connection;

    ActiveMqPeer(Work work) throws Exception {
        this.work = work;
        String uri = "tcp://" + work.address() + "?wireFormat.maxFrameSize=104857600";
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri);
        factory.setUseAsyncSend(!work.isAcknowledged());
        factory.setOptimizeAcknowledge(true);
        // The body is not changed after it was sent, and nothing watches the connection.
        factory.setCopyMessageOnSend(false);
        factory.setWatchTopicAdvisories(false);
        factory.getPrefetchPolicy().setQueuePrefetch(work.prefetchRecords());
        connection = (ActiveMQConnection) factory.createConnection();
        connection.start();
    }

    @Override
    public void create() {}

    @Override
    public Sender sender() throws Exception {
        return new JmsSender(session());
    }

    @Override
    public Receiver receiver() throws Exception {
        ActiveMQSession session = session();
        var queue = session.createQueue(work.topic());
        var consumer = (ActiveMQMessageConsumer) session.createConsumer(queue);
        return new Receiver() {
            @Override
            public void receive(Consumer<byte[]> sink) throws Exception {
                Message message = consumer.receive(1000);
                for (int count = 1; message != null; count++) {
                    byte[] body = new byte[(int) ((BytesMessage) message).getBodyLength()];
                    ((BytesMessage) message).readBytes(body);
                    sink.accept(body);
                    message = count == AT_ONCE ? null : consumer.receiveNoWait();
                }
            }

            @Override
            public void close() throws Exception {
                session.close();
            }
        };
    }

    @Override
    public void close() throws Exception {
        connection.close();
    }

    private ActiveMQSession session() throws Exception {
        return (ActiveMQSession) connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    }

    private final class JmsSender implements Sender {
        private final ActiveMQSession session;
        private final ActiveMQMessageProducer producer;
        private final Window window = new Window(work.inFlight());
        private final AsyncCallback acknowledged = new AsyncCallback() {
            @Override
            public void onSuccess() {
                window.free(1);
            }

            @Override
            public void onException(JMSException error) {
                window.fail(error);
            }
        };

        JmsSender(ActiveMQSession session) throws Exception {
            this.session = session;
            var queue = session.createQueue(work.topic());
            producer = (ActiveMQMessageProducer) session.createProducer(queue);
            producer.setDeliveryMode(DeliveryMode.PERSISTENT);
            producer.setDisableMessageTimestamp(true);
        }

        @Override
        public void send(byte[] value) throws Exception {
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(value);
            if (work.isAcknowledged()) {
                window.take();
                producer.send(message, acknowledged);
            } else {
                producer.send(message);
            }
        }

        @Override
        public void finish() throws Exception {
            if (work.isAcknowledged()) {
                window.drain();
                return;
            }
            // The broker handles a connection's commands in order: an answer to a later one says
            // that all messages have been taken in.
            var probe = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            probe.createBrowser(probe.createQueue(work.topic() + ".probe")).getEnumeration();
            probe.close();
        }

        @Override
        public void close() throws Exception {
            session.close();
        }
    }
}
