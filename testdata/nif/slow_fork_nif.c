/* A NIF for slow_fork.erl: from install() on, the kernel takes some seconds for a fork of the process.
 * It waits until the fork has been read from a userfaultfd, and its reader takes its time. */
#include <erl_nif.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SECONDS = 4, BYTES = 4096 };

static void* read_late(void* argument) {
    const int events = (int)(intptr_t)argument;
    for (;;) {
        struct uffd_msg told;
        struct pollfd ready = {events, POLLIN, 0};
        if (poll(&ready, 1, -1) > 0) {
            sleep(SECONDS);
            if (read(events, &told, sizeof(told)) == sizeof(told) && told.event == UFFD_EVENT_FORK) {
                close((int)told.arg.fork.ufd);
            }
        }
    }
    return NULL;
}

/* install() -> 0 | Errno */
static ERL_NIF_TERM install_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    const int events = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
    struct uffdio_register watched = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    pthread_t reader;
    void* const memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)argc;
    (void)argv;
    watched.range.start = (uintptr_t)memory;
    watched.range.len = BYTES;
    if (events < 0 || memory == MAP_FAILED || ioctl(events, UFFDIO_API, &api) != 0 ||
        ioctl(events, UFFDIO_REGISTER, &watched) != 0) {
        return enif_make_int(env, errno);
    }
    return enif_make_int(env, pthread_create(&reader, NULL, read_late, (void*)(intptr_t)events));
}

static ErlNifFunc functions[] = {{"install", 0, install_nif, 0}};

ERL_NIF_INIT(slow_fork, functions, NULL, NULL, NULL, NULL)
