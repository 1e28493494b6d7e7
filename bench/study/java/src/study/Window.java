package study;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The records in flight: a sender waits for a place, an acknowledgement frees it. */
final class Window {
    private static final int PATIENCE_SECONDS = 120;
    private final int size;
    private final Semaphore places;
    private volatile Throwable failure;

    Window(int size) {
        this.size = size;
        places = new Semaphore(size);
    }

    void take() throws Exception {
        take(1);
    }

    private void take(int count) throws Exception {
        if (!places.tryAcquire(count, PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no acknowledgement for " + PATIENCE_SECONDS + " s");
        }
        if (failure != null) {
            throw new IllegalStateException("a record was refused", failure);
        }
    }

    void free(int count) {
        places.release(count);
    }

    /** Ends the load: a record was not stored. */
    void fail(Throwable cause) {
        failure = cause;
        places.release(1);
    }

    /** Waits until nothing is in flight. */
    void drain() throws Exception {
        take(size);
        places.release(size);
    }
}
