/* Preloaded into a broker by bench/three_brokers.py: counts its syncs of files, for which the kernel
 * has no statistics.
 *
 * The file named by STREAMLOG_SYNCS holds the count, a number of 64 bits shared with the bench.
 * Processes that the broker starts without that variable count nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t unshared;
static _Atomic uint64_t *count = &unshared;
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void begin(void) {
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    const char *path = getenv("STREAMLOG_SYNCS");
    if (path == NULL) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || mapped == MAP_FAILED) abort();
    close(file);
    count = mapped;
}

int fsync(int file) {
    atomic_fetch_add(count, 1);
    return real_fsync(file);
}

int fdatasync(int file) {
    atomic_fetch_add(count, 1);
    return real_fdatasync(file);
}
