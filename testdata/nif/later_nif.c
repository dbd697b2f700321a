/* For later.erl: a thread that is made when asked, and uses a second of processor time. */
#include <erl_nif.h>

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

static void* spin(void* argument) {
    struct timespec used = {0, 0};
    (void)argument;
    prctl(PR_SET_NAME, "born_later");
    while (used.tv_sec < 1) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }
    return NULL;
}

static ERL_NIF_TERM spinning_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    pthread_t thread;
    (void)argc;
    (void)argv;
    if (pthread_create(&thread, NULL, spin, NULL) != 0) {
        return enif_make_badarg(env);
    }
    pthread_join(thread, NULL);
    return enif_make_atom(env, "ok");
}

static ErlNifFunc functions[] = {{"spinning", 0, spinning_nif, ERL_NIF_DIRTY_JOB_CPU_BOUND}};

ERL_NIF_INIT(later, functions, NULL, NULL, NULL, NULL)
