/* A NIF for steady.erl that sleeps in a system call which is not begun anew by itself when it is
 * interrupted: clock_nanosleep. It tells how often that happened, and goes on until the time is up. */
#include <erl_nif.h>

#include <errno.h>
#include <time.h>

/* sleep(Milliseconds) -> {ok, Interruptions} | {error, Errno} */
static ERL_NIF_TERM sleep_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    int milliseconds = 0;
    int interruptions = 0;
    struct timespec until;
    (void)argc;
    if (!enif_get_int(env, argv[0], &milliseconds) || milliseconds < 0) {
        return enif_make_badarg(env);
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += (milliseconds % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        ++until.tv_sec;
    }
    for (;;) {
        const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (error == 0) {
            return enif_make_tuple2(env, enif_make_atom(env, "ok"),
                                    enif_make_int(env, interruptions));
        }
        if (error != EINTR) {
            return enif_make_tuple2(env, enif_make_atom(env, "error"), enif_make_int(env, error));
        }
        ++interruptions;
    }
}

static ErlNifFunc functions[] = {{"sleep", 1, sleep_nif, ERL_NIF_DIRTY_JOB_IO_BOUND}};

ERL_NIF_INIT(steady, functions, NULL, NULL, NULL, NULL)
