package study;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A stream of Redis, over its text protocol.
 *
 * Its Java clients wait for the whole answer of a pipeline before they send the next one. This one
 * keeps as many commands in flight as the others, as `redis-benchmark` does.
 */
final class RedisPeer implements Peer {
    private final Work work;
    private final List<Wire> wires = new ArrayList<>();

    RedisPeer(Work work) {
        this.work = work;
    }

    @Override
    public void create() {}

    @Override
    public Sender sender() throws Exception {
        return new StreamSender(connect());
    }

    @Override
    public Receiver receiver() throws Exception {
        Wire wire = connect();
        return new Receiver() {
            private byte[] next = "0-0".getBytes(StandardCharsets.US_ASCII);

            @Override
            public void receive(Consumer<byte[]> sink) throws Exception {
                String count = Integer.toString(work.prefetchRecords());
                wire.command("XREAD", "COUNT", count, "BLOCK", "1000", "STREAMS", work.topic(), next);
                wire.out.flush();
                // The only stream, its entries, and of each entry its id and fields.
                if (!(wire.answer() instanceof List<?> streams)) {
                    return;
                }
                for (Object entry : (List<?>) ((List<?>) streams.get(0)).get(1)) {
                    next = (byte[]) ((List<?>) entry).get(0);
                    sink.accept((byte[]) ((List<?>) ((List<?>) entry).get(1)).get(1));
                }
            }

            @Override
            public void close() {}
        };
    }

    @Override
    public void close() throws Exception {
        for (Wire wire : wires) {
            wire.socket.close();
        }
    }

    private Wire connect() throws Exception {
        Wire wire = new Wire(new Socket(work.host(), work.port()));
        wires.add(wire);
        return wire;
    }

    private final class StreamSender implements Sender {
        private final Wire wire;
        private final int size = work.inFlight() * work.batch();
        private final Window window = new Window(size);
        private int unsent;

        StreamSender(Wire wire) {
            this.wire = wire;
            Thread answers = new Thread(this::readAnswers, "answers");
            answers.setDaemon(true);
            answers.start();
        }

        private void readAnswers() {
            try {
                while (true) {
                    wire.answer();
                    window.free(1);
                }
            } catch (IOException | RuntimeException error) {
                window.fail(error);
            }
        }

        @Override
        public void send(byte[] value) throws Exception {
            window.take();
            wire.command("XADD", work.topic(), "*", "v", value);
            // A batch is what one write to the socket holds.
            if (++unsent == work.batch()) {
                wire.out.flush();
                unsent = 0;
            }
        }

        @Override
        public void finish() throws Exception {
            wire.out.flush();
            window.drain();
        }

        @Override
        public void close() {}
    }

    /** A connection: commands as arrays of strings, and answers as bytes, numbers and lists. */
    private static final class Wire {
        private static final byte[] END = {'\r', '\n'};
        private final Socket socket;
        private final OutputStream out;
        private final InputStream in;

        Wire(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            out = new BufferedOutputStream(socket.getOutputStream(), 1 << 16);
            in = new BufferedInputStream(socket.getInputStream(), 1 << 18);
        }

        void command(Object... words) throws IOException {
            line('*', words.length);
            for (Object word : words) {
                byte[] bytes = word instanceof byte[] given
                        ? given : ((String) word).getBytes(StandardCharsets.UTF_8);
                line('$', bytes.length);
                out.write(bytes);
                out.write(END);
            }
        }

        private void line(char kind, int number) throws IOException {
            out.write(kind);
            out.write(Integer.toString(number).getBytes(StandardCharsets.US_ASCII));
            out.write(END);
        }

        Object answer() throws IOException {
            int kind = in.read();
            String rest = readLine();
            return switch (kind) {
                case '+' -> rest;
                case ':' -> Long.valueOf(rest);
                case '$' -> bytes(Integer.parseInt(rest));
                case '*' -> list(Integer.parseInt(rest));
                case '-' -> throw new IOException("Redis: " + rest);
                default -> throw new IOException("an answer of kind " + kind);
            };
        }

        private byte[] bytes(int count) throws IOException {
            if (count < 0) {
                return null;
            }
            byte[] found = in.readNBytes(count);
            in.skipNBytes(END.length);
            return found;
        }

        private List<Object> list(int count) throws IOException {
            if (count < 0) {
                return null;
            }
            List<Object> found = new ArrayList<>(count);
            for (int at = 0; at < count; at++) {
                found.add(answer());
            }
            return found;
        }

        private String readLine() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream(16);
            for (int next = in.read(); next != '\n'; next = in.read()) {
                if (next < 0) {
                    throw new IOException("the connection ended");
                }
                if (next != '\r') {
                    line.write(next);
                }
            }
            return line.toString(StandardCharsets.US_ASCII);
        }
    }
}
