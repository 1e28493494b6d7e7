/* Faults of a disk or of a name server for one process: a library for LD_PRELOAD on Linux.
 *
 * It stands between a program and the calls of the C library that reach files or resolve names. STREAMLOG_FAULTS names
 * a control file, which may be replaced (by rename) at any moment while the program runs. Each of its
 * lines is a rule; the first that applies decides:
 *
 *     OPERATION PATTERN EFFECT [skip=N] [times=N]
 *
 * OPERATION  open, read, send, write, sync, truncate, allocate, rename, unlink, mkdir, resolve, or *
 *            for all of them; sendfile counts as a send and as a read of its source, syncfs as a sync of the path
 *            it was given
 * PATTERN    as in fnmatch(3), against the file's absolute path, or a slash and the name of the host to
 *            resolve; `*` matches slashes as well
 * EFFECT     EIO, ENOSPC, EINTR, EMFILE, EDQUOT, EROFS: the call fails so, and does nothing; or a
 *            number with "ms": the call waits so long, then goes on
 * skip, times  let so many calls pass before it strikes, and strike so often at most
 *
 * Each strike appends the line "OPERATION PATH EFFECT" to the control file's name with ".struck".
 * STREAMLOG_CLOCK_AHEAD is a number of seconds by which CLOCK_REALTIME is ahead, for good.
 * STREAMLOG_CLOCK_FILE names a file of two 8-byte numbers: the seconds by which CLOCK_REALTIME is ahead,
 * which may be overwritten at any moment, and a count of its readings while that is not 0.
 *
 * Descriptors that are no files with an absolute path (sockets, pipes, eventfds) are left alone.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define RULES_MAX 64
#define TEXT_MAX 16384
#define PATH_LENGTH 4096

struct rule {
    char operation[16], pattern[1024], effect[16];
    int error;
    long wait_ms, skip, times;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static int rule_count;
static struct stat seen;

static const struct { const char *name; int error; } errors[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR},
    {"EMFILE", EMFILE}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
};

static void refuse_rule(const char *line) {
    dprintf(2, "faults: this is no rule: %s\n", line);
    abort();
}

static void parse(char *line) {
    struct rule rule = {.times = -1};
    char *rest = NULL;
    char *operation = strtok_r(line, " ", &rest), *pattern = strtok_r(NULL, " ", &rest);
    char *effect = strtok_r(NULL, " ", &rest), *unit = NULL;
    if (!operation || !pattern || !effect || rule_count == RULES_MAX) refuse_rule(line);
    snprintf(rule.operation, sizeof rule.operation, "%s", operation);
    snprintf(rule.pattern, sizeof rule.pattern, "%s", pattern);
    snprintf(rule.effect, sizeof rule.effect, "%s", effect);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(effect, errors[i].name)) rule.error = errors[i].error;
    if (!rule.error) {
        rule.wait_ms = strtol(effect, &unit, 10);
        if (unit == effect || strcmp(unit, "ms")) refuse_rule(effect);
    }
    for (char *word; (word = strtok_r(NULL, " ", &rest));)
        if (sscanf(word, "skip=%ld", &rule.skip) != 1 && sscanf(word, "times=%ld", &rule.times) != 1)
            refuse_rule(word);
    rules[rule_count++] = rule;
}

/* Reads the control file if it is another one than before. Only raw system calls: those below are
 * ours. The caller holds the lock. */
static void reload(const char *control) {
    static char text[TEXT_MAX];
    struct stat now;
    if (syscall(SYS_newfstatat, AT_FDCWD, control, &now, 0) != 0) {
        rule_count = 0;
        memset(&seen, 0, sizeof seen);
        return;
    }
    if (now.st_ino == seen.st_ino && now.st_size == seen.st_size &&
        !memcmp(&now.st_mtim, &seen.st_mtim, sizeof now.st_mtim))
        return;
    int fd = syscall(SYS_openat, AT_FDCWD, control, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t size = syscall(SYS_read, fd, text, TEXT_MAX - 1);
    syscall(SYS_close, fd);
    if (size < 0) return;
    text[size] = 0;
    seen = now;
    rule_count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) parse(line);
}

static void note(const char *control, const char *operation, const char *path, const char *effect) {
    char name[PATH_LENGTH], line[PATH_LENGTH + 64];
    snprintf(name, sizeof name, "%s.struck", control);
    int size = snprintf(line, sizeof line, "%s %s %s\n", operation, path, effect);
    int fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
}

/* Whether the call is to fail, with errno set; or waits first. */
static int strikes(const char *operation, const char *path) {
    const char *control = getenv("STREAMLOG_FAULTS");
    if (!control || path[0] != '/') return 0;
    struct rule *found = NULL;
    long wait_ms = 0;
    int error = 0;
    pthread_mutex_lock(&lock);
    reload(control);
    for (int i = 0; i < rule_count && !found; i++) {
        struct rule *rule = &rules[i];
        if (strcmp(rule->operation, "*") && strcmp(rule->operation, operation)) continue;
        if (rule->times == 0 || fnmatch(rule->pattern, path, 0)) continue;
        if (rule->skip > 0) {
            rule->skip--;
            continue;
        }
        if (rule->times > 0) rule->times--;
        found = rule;
        wait_ms = rule->wait_ms;
        error = rule->error;
        note(control, operation, path, rule->effect);
    }
    pthread_mutex_unlock(&lock);
    if (wait_ms > 0) {
        struct timespec left = {wait_ms / 1000, wait_ms % 1000 * 1000000};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
    }
    if (error) errno = error;
    return error != 0;
}

static int strikes_file(const char *operation, int fd) {
    if (!getenv("STREAMLOG_FAULTS")) return 0;
    char link[64], path[PATH_LENGTH];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    char *deleted = strstr(path, " (deleted)");
    if (deleted) *deleted = 0;
    return strikes(operation, path);
}

static int strikes_name(const char *operation, const char *name) {
    if (name[0] == '/') return strikes(operation, name);
    char path[2 * PATH_LENGTH], here[PATH_LENGTH];
    if (!getcwd(here, sizeof here)) return 0;
    snprintf(path, sizeof path, "%s/%s", here, name);
    return strikes(operation, path);
}

/* The next definition of the function this is in. */
#define NEXT(type, name)                                                     \
    static type (*next)();                                                   \
    if (!next) next = (type(*)())dlsym(RTLD_NEXT, name)

#define OPEN(name)                                                           \
    int name(const char *path, int flags, ...) {                             \
        NEXT(int, #name);                                                    \
        va_list more;                                                        \
        va_start(more, flags);                                               \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;    \
        va_end(more);                                                        \
        return strikes_name("open", path) ? -1 : next(path, flags, mode);    \
    }
OPEN(open)
OPEN(open64)

#define PREAD(name)                                                          \
    ssize_t name(int fd, void *buffer, size_t size, off_t position) {        \
        NEXT(ssize_t, #name);                                                \
        return strikes_file("read", fd) ? -1 : next(fd, buffer, size, position); \
    }
PREAD(pread)
PREAD(pread64)

#define PWRITE(name)                                                         \
    ssize_t name(int fd, const void *buffer, size_t size, off_t position) {  \
        NEXT(ssize_t, #name);                                                \
        return strikes_file("write", fd) ? -1 : next(fd, buffer, size, position); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                        \
    ssize_t name(int fd, const struct iovec *parts, int count, off_t position) { \
        NEXT(ssize_t, #name);                                                \
        return strikes_file("write", fd) ? -1 : next(fd, parts, count, position); \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

ssize_t read(int fd, void *buffer, size_t size) {
    NEXT(ssize_t, "read");
    return strikes_file("read", fd) ? -1 : next(fd, buffer, size);
}

ssize_t write(int fd, const void *buffer, size_t size) {
    NEXT(ssize_t, "write");
    return strikes_file("write", fd) ? -1 : next(fd, buffer, size);
}

#define SENDFILE(name)                                                       \
    ssize_t name(int out, int in, off_t *position, size_t size) {            \
        NEXT(ssize_t, #name);                                                \
        int struck = strikes_file("send", in) || strikes_file("read", in);   \
        return struck ? -1 : next(out, in, position, size);                  \
    }
SENDFILE(sendfile)
SENDFILE(sendfile64)

#define SYNC(name)                                                           \
    int name(int fd) {                                                       \
        NEXT(int, #name);                                                    \
        return strikes_file("sync", fd) ? -1 : next(fd);                     \
    }
SYNC(fsync)
SYNC(fdatasync)
SYNC(syncfs)

#define TRUNCATE(name)                                                       \
    int name(int fd, off_t size) {                                           \
        NEXT(int, #name);                                                    \
        return strikes_file("truncate", fd) ? -1 : next(fd, size);           \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define FALLOCATE(name)                                                      \
    int name(int fd, int mode, off_t position, off_t size) {                 \
        NEXT(int, #name);                                                    \
        return strikes_file("allocate", fd) ? -1 : next(fd, mode, position, size); \
    }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

/* These return the error instead of setting errno. */
#define POSIX_FALLOCATE(name)                                                \
    int name(int fd, off_t position, off_t size) {                           \
        NEXT(int, #name);                                                    \
        return strikes_file("allocate", fd) ? errno : next(fd, position, size); \
    }
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)

int rename(const char *from, const char *to) {
    NEXT(int, "rename");
    return strikes_name("rename", to) ? -1 : next(from, to);
}

int unlink(const char *path) {
    NEXT(int, "unlink");
    return strikes_name("unlink", path) ? -1 : next(path);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(int, "mkdir");
    return strikes_name("mkdir", path) ? -1 : next(path, mode);
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    NEXT(int, "getaddrinfo");
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "/%s", host ? host : "");
    return strikes("resolve", path) ? EAI_SYSTEM : next(host, port, hints, found);
}

static long *clock_file;

/* At the start: a program reads the time in places where no file can be opened. */
__attribute__((constructor)) static void map_clock(void) {
    const char *path = getenv("STREAMLOG_CLOCK_FILE");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *mapped = mmap(NULL, 2 * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (mapped != MAP_FAILED) clock_file = mapped;
}

int clock_gettime(clockid_t id, struct timespec *time) {
    NEXT(int, "clock_gettime");
    int result = next(id, time);
    const char *ahead = id == CLOCK_REALTIME ? getenv("STREAMLOG_CLOCK_AHEAD") : NULL;
    if (result == 0 && ahead) time->tv_sec += atol(ahead);
    if (result == 0 && id == CLOCK_REALTIME && clock_file) {
        long jumped = __atomic_load_n(&clock_file[0], __ATOMIC_RELAXED);
        if (jumped) __atomic_fetch_add(&clock_file[1], 1, __ATOMIC_RELAXED);
        time->tv_sec += jumped;
    }
    return result;
}
