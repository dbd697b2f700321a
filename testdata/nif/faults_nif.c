/* A NIF for faults.erl. What the node's threads feel and get is in a page of a file that the test maps
 * too (BEAMDUMP_FAULTS_PAGE), so that nobody has to ask the node for it:
 *   longest_gap_ns  the longest time that a thread of real-time priority, which sleeps 0.2 ms again and
 *                   again, did not run; the test sets it to 0
 *   signals         SIGUSR2 handled so far
 *   priority        whether that thread has its priority
 *   release         what hangs hangs no more; the test's
 */
#include <erl_nif.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct page {
    _Atomic uint64_t longest_gap_ns;
    _Atomic uint64_t signals;
    _Atomic uint64_t priority;
    _Atomic uint64_t release;
};

static struct page* page = NULL;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void* feel(void* none) {
    const struct sched_param parameters = {.sched_priority = 50};
    const struct timespec moment = {0, 200000};
    (void)none;
    page->priority = pthread_setschedparam(pthread_self(), SCHED_RR, &parameters) == 0;
    for (uint64_t before = now_ns();;) {
        nanosleep(&moment, NULL);
        const uint64_t after = now_ns();
        if (after - before > page->longest_gap_ns) {
            page->longest_gap_ns = after - before;
        }
        before = after;
    }
    return NULL;
}

static void count(int signal) {
    (void)signal;
    ++page->signals;
}

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) {
    const char* name = getenv("BEAMDUMP_FAULTS_PAGE");
    const int file = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
    struct sigaction action;
    pthread_t thread;
    (void)env;
    (void)data;
    (void)info;
    if (file < 0) {
        return 1;
    }
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    return page == MAP_FAILED || sigaction(SIGUSR2, &action, NULL) != 0 ||
           pthread_create(&thread, NULL, feel, NULL) != 0;
}

/* hang(Milliseconds) -> ok: the thread is in uninterruptible sleep so long, or until `release`, since
 * vfork's parent is until the child execs or ends. */
static ERL_NIF_TERM hang_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    int milliseconds = 0;
    (void)argc;
    if (!enif_get_int(env, argv[0], &milliseconds) || milliseconds < 0) {
        return enif_make_badarg(env);
    }
    const pid_t child = vfork();
    if (child == 0) {
        const struct timespec moment = {0, 1000000};
        const uint64_t end = now_ns() + (uint64_t)milliseconds * 1000000U;
        while (!page->release && now_ns() < end) {
            nanosleep(&moment, NULL);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return enif_make_atom(env, "ok");
}

static ErlNifFunc functions[] = {{"hang", 1, hang_nif, ERL_NIF_DIRTY_JOB_IO_BOUND}};

ERL_NIF_INIT(faults, functions, load, NULL, NULL, NULL)
