// Lets the operations of this process on the files of a fleet fail, from the n-th one on, or kills it there.
// Loaded with LD_PRELOAD by fault_worker.py, which calls `arm`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { none, killed, torn, full, broken };  // torn: killed in the middle of a write

static long left = -1, how = none, lasting = 1, done = 0;

void arm(long operation, long action, long operations) {
    left = operation;
    how = action;
    lasting = operations;
    done = 0;
}
long operations(void) { return done; }

static int is_ours(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strstr(path, "fleet.sqlite") != NULL;
}

// Whether an operation is to fail; kills, unless it is a write to be torn.
static int fails(void) {
    if (how == none) return 0;
    ++done;
    if (done < left || done >= left + lasting) return 0;
    if (how == killed) kill(getpid(), SIGKILL);
    if (how == torn) return 1;
    errno = how == full ? ENOSPC : EIO;
    return 1;
}
static int fails_on(int file) {
    if (how == none || !is_ours(file) || !fails()) return 0;
    if (how == torn) kill(getpid(), SIGKILL);
    return 1;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

static ssize_t put(int file, const void* data, size_t size, off_t at) {
    typedef ssize_t (*Write)(int, const void*, size_t, off_t);
    const Write real = REAL("pwrite64", Write);
    if (how != none && is_ours(file) && fails()) {
        if (how != torn) return -1;
        real(file, data, size / 3, at);
        kill(getpid(), SIGKILL);
    }
    return real(file, data, size, at);
}
ssize_t pwrite64(int file, const void* data, size_t size, off_t at) { return put(file, data, size, at); }
ssize_t pwrite(int file, const void* data, size_t size, off_t at) { return put(file, data, size, at); }

int fsync(int file) {
    typedef int (*Sync)(int);
    return fails_on(file) ? -1 : REAL("fsync", Sync)(file);
}
int fdatasync(int file) {
    typedef int (*Sync)(int);
    return fails_on(file) ? -1 : REAL("fdatasync", Sync)(file);
}
int ftruncate64(int file, off_t size) {
    typedef int (*Cut)(int, off_t);
    return fails_on(file) ? -1 : REAL("ftruncate64", Cut)(file, size);
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }
int unlink(const char* path) {
    typedef int (*Remove)(const char*);
    if (strstr(path, "fleet.sqlite") != NULL && how != none && fails()) {
        if (how == torn) kill(getpid(), SIGKILL);
        return -1;
    }
    return REAL("unlink", Remove)(path);
}
