package study;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The processor time of the broker's processes since an instant. */
final class Processor {
    /** The unit of the kernel's counters for programs: USER_HZ is 100 on every platform. */
    private static final double TICK_NANOS = 1e7;
    private final List<Long> pids;
    private final long before;

    Processor(List<Long> pids) throws Exception {
        this.pids = pids;
        before = ticks();
    }

    double perRecord(long records) throws Exception {
        return records == 0 ? 0 : (ticks() - before) * TICK_NANOS / records;
    }

    private long ticks() throws Exception {
        long total = 0;
        for (long pid : pids) {
            String text = Files.readString(Path.of("/proc/" + pid + "/stat"));
            // The name of the program may contain spaces, and ends with the last parenthesis.
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
            total += Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
        }
        return total;
    }
}
