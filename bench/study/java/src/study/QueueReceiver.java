package study;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Records that a client delivers on its own thread. */
final class QueueReceiver implements Peer.Receiver {
    private final BlockingQueue<byte[]> arrived;
    private final AutoCloseable source;
    private final List<byte[]> taken = new ArrayList<>();

    QueueReceiver(BlockingQueue<byte[]> arrived, AutoCloseable source) {
        this.arrived = arrived;
        this.source = source;
    }

    @Override
    public void receive(Consumer<byte[]> sink) throws Exception {
        byte[] first = arrived.poll(1, TimeUnit.SECONDS);
        if (first != null) {
            sink.accept(first);
            arrived.drainTo(taken, AT_ONCE);
            taken.forEach(sink);
            taken.clear();
        }
    }

    @Override
    public void close() throws Exception {
        source.close();
    }
}
