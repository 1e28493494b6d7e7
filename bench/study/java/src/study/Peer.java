package study;

import java.util.function.Consumer;

/** A broker under load, by the client that its users would choose. */
interface Peer extends AutoCloseable {
    /** Creates an empty queue, stream or topic. */
    void create() throws Exception;

    Sender sender() throws Exception;

    Receiver receiver() throws Exception;

    interface Sender extends AutoCloseable {
        /** Sends a record; blocks while as many as allowed are in flight. */
        void send(byte[] value) throws Exception;

        /** Returns once the broker has stored (and, if asked for, acknowledged) every record. */
        void finish() throws Exception;

        @Override
        void close() throws Exception;
    }

    interface Receiver extends AutoCloseable {
        /** The most records of a call, so that a warm-up ends near its number of records. */
        int AT_ONCE = 200;

        /** Passes arrived records to `sink`; returns when there are no more, or after a second. */
        void receive(Consumer<byte[]> sink) throws Exception;

        @Override
        void close() throws Exception;
    }
}
