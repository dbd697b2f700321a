/* Native calls for wedged.erl that never return, on a scheduler that is not a dirty one. */
#include <erl_nif.h>

#include <unistd.h>

/* Nobody changes it. */
static volatile int never = 0;

/* sleeping() waits in a system call, over and over. */
static ERL_NIF_TERM sleeping_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    while (!never) {
        pause();
    }
    return enif_make_int(env, 0);
}

/* spinning() uses all of a processor. */
static ERL_NIF_TERM spinning_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    ErlNifUInt64 turns = 0;
    (void)argc;
    (void)argv;
    while (!never) {
        ++turns;
    }
    return enif_make_uint64(env, turns);
}

static ErlNifFunc functions[] = {{"sleeping", 0, sleeping_nif, 0}, {"spinning", 0, spinning_nif, 0}};

ERL_NIF_INIT(wedged, functions, NULL, NULL, NULL, NULL)
