/* Native calls for wedged.erl that never return. */
#include <erl_nif.h>

#include <unistd.h>

/* Nobody changes it. */
static volatile int never = 0;

/* Kept as frames of their own. */
#define FRAME __attribute__((noinline, noclone))

static FRAME int deeper_sleep(void) {
    int turns = 0;
    while (!never) {
        pause();
        ++turns;
    }
    return turns;
}

static FRAME ErlNifUInt64 deeper(void) {
    ErlNifUInt64 turns = 0;
    while (!never) {
        ++turns;
    }
    return turns;
}

/* sleeping() and dirty_sleeping() wait in a system call, over and over. */
static ERL_NIF_TERM sleeping_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    return enif_make_int(env, deeper_sleep());
}

/* spinning() uses all of a processor. */
static ERL_NIF_TERM spinning_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    return enif_make_uint64(env, deeper());
}

static ErlNifFunc functions[] = {
    {"sleeping", 0, sleeping_nif, 0},
    {"spinning", 0, spinning_nif, 0},
    {"dirty_sleeping", 0, sleeping_nif, ERL_NIF_DIRTY_JOB_IO_BOUND},
};

ERL_NIF_INIT(wedged, functions, NULL, NULL, NULL, NULL)
