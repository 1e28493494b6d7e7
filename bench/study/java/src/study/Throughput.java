package study;

import java.util.Arrays;
import java.util.Locale;

/** Records a second, sent or received as fast as the broker allows. */
final class Throughput {
    private static final int SAMPLES = 40;
    private static final double PATIENCE_SECONDS = 60;
    private final Work work;
    private final StringBuilder series = new StringBuilder();
    private long received;

    Throughput(Work work) {
        this.work = work;
    }

    String produce(Peer peer) throws Exception {
        peer.create();
        byte[] value = new byte[work.recordBytes()];
        Arrays.fill(value, (byte) 'x');
        long sent = 0;
        try (Peer.Sender sender = peer.sender()) {
            for (long number = 0; number < work.warmUp(); number++) {
                sender.send(value);
            }
            sender.finish();
            Processor processor = new Processor(work.pids());
            long began = System.nanoTime();
            long every = Math.max(1, work.records() / SAMPLES);
            while (sent < work.records()) {
                sender.send(value);
                sent++;
                // The clock is expensive beside a send.
                if (sent % every == 0 || sent % 512 == 0) {
                    double elapsed = seconds(began);
                    if (sent % every == 0) {
                        sample(sent, elapsed);
                    }
                    if (elapsed > work.seconds()) {
                        break;
                    }
                }
            }
            sender.finish();
            return line(sent, sent / seconds(began), processor.perRecord(sent));
        }
    }

    String consume(Peer peer) throws Exception {
        try (Peer.Receiver receiver = peer.receiver()) {
            receiveUntil(receiver, work.warmUp(), Double.MAX_VALUE);
            long before = received;
            Processor processor = new Processor(work.pids());
            long began = System.nanoTime();
            receiveUntil(receiver, work.warmUp() + work.records(), work.seconds());
            // The last records of the warm-up may have come with others, which are not timed.
            long timed = received - before;
            double rate = timed / seconds(began);
            return line(received - work.warmUp(), rate, processor.perRecord(timed));
        }
    }

    private void receiveUntil(Peer.Receiver receiver, long records, double limit) throws Exception {
        long began = System.nanoTime();
        long last = began;
        long every = Math.max(1, work.records() / SAMPLES);
        long next = every;
        while (received < records && seconds(began) < limit) {
            long before = received;
            receiver.receive(value -> {
                if (value.length != work.recordBytes()) {
                    throw new IllegalStateException(value.length + " bytes arrived");
                }
                received++;
            });
            long now = System.nanoTime();
            last = received > before ? now : last;
            if (now - last > PATIENCE_SECONDS * 1e9) {
                throw new IllegalStateException("only " + received + " of " + records + " arrived");
            }
            if (limit < Double.MAX_VALUE && received - work.warmUp() >= next) {
                sample(received - work.warmUp(), seconds(began));
                next += every;
            }
        }
    }

    private void sample(long records, double elapsed) {
        series.append(series.isEmpty() ? "" : ", ");
        series.append(String.format(Locale.ROOT, "[%d, %.4f]", records, elapsed));
    }

    private String line(long records, double rate, double cpuNanos) {
        String form = "{\"records\": %d, \"per_second\": %.1f, \"cpu_ns\": %.1f, \"series\": [%s]}";
        return String.format(Locale.ROOT, form, records, rate, cpuNanos, series);
    }

    private static double seconds(long began) {
        return (System.nanoTime() - began) / 1e9;
    }
}
