package study;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The options of a load. */
record Work(Map<String, String> options, List<Long> pids) {
    static Work parse(String[] words, int from) {
        Map<String, String> options = new HashMap<>();
        List<Long> pids = new ArrayList<>();
        for (int at = from; at + 1 < words.length; at += 2) {
            if (words[at].equals("--pid")) {
                pids.add(Long.valueOf(words[at + 1]));
            } else {
                options.put(words[at].substring(2), words[at + 1]);
            }
        }
        return new Work(options, pids);
    }

    private int number(String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, Integer.toString(otherwise)));
    }

    String address() {
        return options.get("address");
    }

    String host() {
        return address().substring(0, address().lastIndexOf(':'));
    }

    int port() {
        return Integer.parseInt(address().substring(address().lastIndexOf(':') + 1));
    }

    String topic() {
        return options.getOrDefault("topic", "study");
    }

    int partitions() {
        return number("partitions", 1);
    }

    long records() {
        return number("records", 100_000);
    }

    /** Records that are sent or received before the measurement. */
    long warmUp() {
        return number("warm-up", 0);
    }

    int recordBytes() {
        return number("record-bytes", 200);
    }

    /** Records of a batch, for clients that have batches. */
    int batch() {
        return number("batch", 1);
    }

    /** The batches in flight, of one record if the client has no batches. */
    int inFlight() {
        return number("in-flight", 1000);
    }

    boolean isAcknowledged() {
        return number("acks", 1) != 0;
    }

    int prefetchBytes() {
        return number("prefetch-bytes", 200 << 10);
    }

    int prefetchRecords() {
        return number("prefetch-records", 1000);
    }

    double rate() {
        return Double.parseDouble(options.getOrDefault("rate", "1000"));
    }

    /** The longest time that a measurement goes on. */
    double seconds() {
        return Double.parseDouble(options.getOrDefault("seconds", "60"));
    }
}
