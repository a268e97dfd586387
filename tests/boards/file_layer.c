/* A layer below everything that writes files, for LD_PRELOAD: it notes each change of a file below a folder, in order,
   with its data; it can fail a write or a sync, or kill the process before one. See file_layer.py, which reads the
   notes. Whatever it does not know how to replay is noted as such, and fails the test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static int notes = -1;
static long writes_left, syncs_left, steps_left; /* 0: never */
static long steps_done;
static int write_errno, sync_errno, stays;

struct note {
    uint32_t kind, name, other, pad;
    uint64_t file, offset, size;
};

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* ---- for the test: what to note, and what to break ---- */

void layer_note(const char *folder, const char *path) {
    strncpy(root, folder, sizeof root - 1);
    notes = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void layer_break(long write, int of_write, long sync, int of_sync, int for_good, long step) {
    writes_left = write, write_errno = of_write, syncs_left = sync, sync_errno = of_sync, stays = for_good;
    steps_left = step;
}

long layer_steps(void) { return steps_done; }

/* ---- notes ---- */

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size > 0) {
        ssize_t done = syscall(SYS_write, notes, at, size);
        if (done <= 0) abort();
        at += done, size -= (size_t)done;
    }
}

static void note(char kind, const char *name, const char *other, uint64_t file, uint64_t offset, const void *data,
                 uint64_t size) {
    struct note n = {(uint32_t)kind, name ? (uint32_t)strlen(name) : 0, other ? (uint32_t)strlen(other) : 0, 0, file,
                     offset, size};
    put(&n, sizeof n);
    if (name) put(name, n.name);
    if (other) put(other, n.other);
    if (data) put(data, size);
}

void layer_mark(const char *word) {
    pthread_mutex_lock(&one_at_a_time);
    if (notes >= 0) note('M', word, NULL, 0, 0, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
}

static int below(const char *path) {
    size_t n = strlen(root);
    return notes >= 0 && n > 0 && strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static int full(int folder, const char *path, char *out) {
    if (notes < 0) return 0;
    if (path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
    } else {
        char link[64], start[PATH_MAX];
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        ssize_t n = readlink(link, start, sizeof start - 1);
        if (n < 0) return 0;
        start[n] = 0;
        if ((size_t)snprintf(out, PATH_MAX, "%s/%s", start, path) >= PATH_MAX) return 0;
    }
    return below(out);
}

static int name_of(int fd, char *out) {
    if (notes < 0 || fd == notes) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0) return 0;
    out[n] = 0;
    return below(out);
}

static uint64_t file_of(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 ? (uint64_t)s.st_ino : 0;
}

static uint64_t size_of(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 ? (uint64_t)s.st_size : 0;
}

static void step(void) {
    steps_done++;
    if (steps_left > 0 && --steps_left == 0) syscall(SYS_kill, getpid(), SIGKILL);
}

static int due(long *left) {
    if (*left <= 0 || --*left > 0) return 0;
    if (stays) *left = 1;
    return 1;
}

/* ---- opening ---- */

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char name[PATH_MAX];
    if (!full(folder, path, name) || !(flags & (O_CREAT | O_WRONLY | O_RDWR)))
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    pthread_mutex_lock(&one_at_a_time);
    int was_there = access(name, F_OK) == 0;
    if (!was_there && (flags & O_CREAT)) step();
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    int error = errno;
    if (fd >= 0) {
        note(was_there ? 'O' : 'C', name, NULL, file_of(fd), 0, NULL, 0);
        if (flags & O_TRUNC) note('T', NULL, NULL, file_of(fd), 0, NULL, 0);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return fd;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list words;                                                                                                 \
        va_start(words, flags);                                                                                        \
        mode = va_arg(words, mode_t);                                                                                  \
        va_end(words);                                                                                                 \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return opened(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags)
    return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return opened(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return opened(folder, path, flags | O_LARGEFILE, mode);
}
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

/* ---- data ---- */

static ssize_t written(int fd, const void *data, size_t size, off_t offset, int at_place) {
    char name[PATH_MAX];
    if (!name_of(fd, name))
        return at_place ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
    pthread_mutex_lock(&one_at_a_time);
    step();
    ssize_t done = -1;
    if (due(&writes_left)) {
        errno = write_errno;
    } else {
        if (!at_place) offset = fcntl(fd, F_GETFL) & O_APPEND ? (off_t)size_of(fd) : lseek(fd, 0, SEEK_CUR);
        done = at_place ? syscall(SYS_pwrite64, fd, data, size, offset) : syscall(SYS_write, fd, data, size);
        if (done > 0) note('W', NULL, NULL, file_of(fd), (uint64_t)offset, data, (uint64_t)done);
    }
    int error = errno;
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return written(fd, data, size, offset, 1); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return written(fd, data, size, offset, 1); }

/* A vector may be written in part: what comes back is how much. */
static ssize_t vector(int fd, const struct iovec *parts, int count, off_t offset, int at_place) {
    ssize_t all = 0;
    for (int k = 0; k < count; k++) {
        ssize_t done = written(fd, parts[k].iov_base, parts[k].iov_len, offset + all, at_place);
        if (done < 0) return all > 0 ? all : done;
        all += done;
        if ((size_t)done < parts[k].iov_len) break;
    }
    return all;
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return vector(fd, parts, count, 0, 0); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return vector(fd, parts, count, at, 1); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return vector(fd, parts, count, at, 1); }

int ftruncate(int fd, off_t size) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&one_at_a_time);
    step();
    int done = (int)syscall(SYS_ftruncate, fd, size), error = errno;
    if (done == 0) note('T', NULL, NULL, file_of(fd), (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

/* ---- syncs ---- */

static int synced(int fd, long call) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return (int)syscall(call, fd);
    pthread_mutex_lock(&one_at_a_time);
    step();
    int done = 0, error = 0;
    if (due(&syncs_left)) {
        done = -1, error = sync_errno;
    } /* else no real sync: the disk is a simulated one, and the test is quicker */
    note(done == 0 ? 'S' : 'F', name, NULL, file_of(fd), 0, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* ---- names ---- */

static int named(char kind, long call, int folder, const char *path, int second, const char *other, int flags) {
    char name[PATH_MAX], to[PATH_MAX] = "";
    int ours = full(folder, path, name);
    if (other) ours = full(second, other, to) || ours;
    if (ours) pthread_mutex_lock(&one_at_a_time), step();
    int done = other ? (int)syscall(call, folder, path, second, other, flags) : (int)syscall(call, folder, path, flags);
    int error = errno;
    if (ours && done == 0) note(kind, name, other ? to : NULL, 0, 0, NULL, 0);
    if (ours) pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}
int rename(const char *a, const char *b) { return named('R', SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0); }
int renameat(int f, const char *a, int g, const char *b) { return named('R', SYS_renameat2, f, a, g, b, 0); }
int renameat2(int f, const char *a, int g, const char *b, unsigned flags) {
    return named(flags & RENAME_EXCHANGE ? 'X' : 'R', SYS_renameat2, f, a, g, b, (int)flags);
}
int link(const char *a, const char *b) { return named('L', SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0); }
int linkat(int f, const char *a, int g, const char *b, int flags) { return named('L', SYS_linkat, f, a, g, b, flags); }
int unlink(const char *path) { return named('U', SYS_unlinkat, AT_FDCWD, path, 0, NULL, 0); }
int unlinkat(int f, const char *path, int flags) {
    return named(flags & AT_REMOVEDIR ? 'X' : 'U', SYS_unlinkat, f, path, 0, NULL, flags);
}
int remove(const char *path) {
    int done = unlink(path);
    return done != 0 && errno == EISDIR ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR) : done;
}

/* ---- what cannot be replayed: noted, so that the test fails ---- */

static void unknown(int fd, const char *call) {
    char name[PATH_MAX];
    if (!name_of(fd, name)) return;
    pthread_mutex_lock(&one_at_a_time);
    note('X', call, NULL, 0, 0, NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
}

void *mmap(void *at, size_t size, int use, int flags, int fd, off_t offset) {
    if (fd >= 0 && (use & PROT_WRITE) && (flags & MAP_SHARED)) unknown(fd, "mmap");
    return (void *)syscall(SYS_mmap, at, size, use, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int use, int flags, int fd, off64_t offset) {
    return mmap(at, size, use, flags, fd, offset);
}
int posix_fallocate(int fd, off_t offset, off_t size) {
    REAL(posix_fallocate);
    return unknown(fd, "posix_fallocate"), real(fd, offset, size);
}
int posix_fallocate64(int fd, off64_t offset, off64_t size) { return posix_fallocate(fd, offset, size); }
int fallocate(int fd, int mode, off_t offset, off_t size) {
    return unknown(fd, "fallocate"), (int)syscall(SYS_fallocate, fd, mode, offset, size);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t size) { return fallocate(fd, mode, offset, size); }
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags) {
    return unknown(to, "copy_file_range"), syscall(SYS_copy_file_range, from, at, to, there, size, flags);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
    return unknown(to, "sendfile"), syscall(SYS_sendfile, to, from, at, size);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) { return sendfile(to, from, at, size); }
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags) {
    return (void)flags, unknown(fd, "pwritev2"), pwritev(fd, parts, count, at);
}
