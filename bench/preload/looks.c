/* Preloaded into a broker by bench/sections/reading.py: it tells what was sent by sendfile, and
 * answers the broker's looks at the page cache without a look while that is asked for, which is how
 * much they cost.
 *
 * The file named by STREAMLOG_LOOKS holds two numbers of 64 bits, shared with the bench: whether
 * every page counts as cached, and the bytes sent so far.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define CACHESTAT 451

struct shared {
    _Atomic uint64_t counts_as_cached;
    _Atomic uint64_t sent;
};

static struct shared *shared;
static long (*real_syscall)(long, ...);
static ssize_t (*real_sendfile)(int, int, off_t *, size_t);

__attribute__((constructor)) static void begin(void) {
    real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    real_sendfile = (ssize_t(*)(int, int, off_t *, size_t))dlsym(RTLD_NEXT, "sendfile");
    const char *path = getenv("STREAMLOG_LOOKS");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || mapped == MAP_FAILED) abort();
    close(file);
    shared = mapped;
}

long syscall(long number, ...) {
    va_list list;
    long given[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) given[i] = va_arg(list, long);
    va_end(list);
    if (number == CACHESTAT && shared->counts_as_cached) {
        const uint64_t *range = (const uint64_t *)given[1];
        uint64_t *counts = (uint64_t *)given[2];
        counts[0] = range[1] / 4096 + 1;
        return 0;
    }
    return real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

ssize_t sendfile(int socket, int file, off_t *position, size_t length) {
    ssize_t sent = real_sendfile(socket, file, position, length);
    if (sent > 0) shared->sent += (uint64_t)sent;
    return sent;
}
