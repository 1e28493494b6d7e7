package study;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * The time from a record's scheduled sending until a consumer has it.
 *
 * The load is open: a late record counts from its scheduled time, so that a stall shows in full.
 */
final class Latency {
    private static final long PATIENCE_NANOS = 60_000_000_000L;
    private final Work work;
    private final long[] nanos;
    private volatile int arrived;
    private long lastArrival;
    private volatile Throwable failure;

    Latency(Work work) {
        this.work = work;
        nanos = new long[(int) (work.warmUp() + work.records())];
    }

    String measure(Peer peer) throws Exception {
        peer.create();
        Thread consumer;
        try (Peer.Receiver receiver = peer.receiver(); Peer.Sender sender = peer.sender()) {
            consumer = new Thread(() -> receive(receiver), "consumer");
            consumer.start();
            send(sender, 0, (int) work.warmUp());
            waitFor((int) work.warmUp());
            long began = System.nanoTime();
            send(sender, (int) work.warmUp(), nanos.length);
            waitFor(nanos.length);
            consumer.join();
            return line((lastArrival - began) / 1e9);
        }
    }

    private void send(Peer.Sender sender, int from, int to) throws Exception {
        long began = System.nanoTime();
        for (int number = from; number < to; number++) {
            long due = began + (long) ((number - from + 1) * 1e9 / work.rate());
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            byte[] value = new byte[work.recordBytes()];
            ByteBuffer.wrap(value).putLong(due);
            sender.send(value);
        }
        sender.finish();
    }

    private void receive(Peer.Receiver receiver) {
        try {
            while (arrived < nanos.length) {
                receiver.receive(value -> {
                    long now = System.nanoTime();
                    nanos[arrived] = now - ByteBuffer.wrap(value).getLong();
                    lastArrival = now;
                    arrived++;
                });
            }
        } catch (Throwable error) {
            failure = error;
        }
    }

    private void waitFor(int count) throws Exception {
        long began = System.nanoTime();
        while (arrived < count) {
            if (failure != null || System.nanoTime() - began > PATIENCE_NANOS) {
                String message = "only " + arrived + " of " + count + " arrived";
                throw new IllegalStateException(message, failure);
            }
            Thread.sleep(1);
        }
    }

    private String line(double seconds) {
        long[] sorted = Arrays.copyOfRange(nanos, (int) work.warmUp(), nanos.length);
        int count = sorted.length;
        Arrays.sort(sorted);
        StringBuilder out = new StringBuilder();
        out.append(String.format(Locale.ROOT, "{\"records\": %d, ", count));
        out.append(String.format(Locale.ROOT, "\"per_second\": %.1f, ", count / seconds));
        String[] names = {"p50_us", "p90_us", "p99_us", "p999_us"};
        double[] parts = {0.5, 0.9, 0.99, 0.999};
        for (int at = 0; at < names.length; at++) {
            double micros = sorted[Math.min(count - 1, (int) (count * parts[at]))] / 1e3;
            out.append(String.format(Locale.ROOT, "\"%s\": %.1f, ", names[at], micros));
        }
        return out.append(String.format(Locale.ROOT, "\"max_us\": %.1f}", sorted[count - 1] / 1e3))
                .toString();
    }
}
