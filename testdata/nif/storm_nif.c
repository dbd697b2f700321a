/* The NIFs of storm.erl, one on a dirty and one on a normal scheduler: each walks through a list until the time is up, and makes a list of every
 * thousandth element that it met. */
#include <erl_nif.h>

#include <time.h>

enum { kCells = 1000, kMade = 100000 };

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000L;
}

/* hold(List, Milliseconds), hold_here(List, Milliseconds) -> {Walked, Made} */
static ERL_NIF_TERM hold_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    int milliseconds = 0;
    ERL_NIF_TERM rest = argv[0];
    ERL_NIF_TERM made = enif_make_list(env, 0);
    ErlNifUInt64 walked = 0;
    unsigned made_count = 0;
    (void)argc;
    if (!enif_is_list(env, argv[0]) || !enif_get_int(env, argv[1], &milliseconds)) {
        return enif_make_badarg(env);
    }
    const long long until = now_ms() + milliseconds;
    while (now_ms() < until) {
        ERL_NIF_TERM head = 0;
        for (int i = 0; i < kCells; ++i) {
            ERL_NIF_TERM tail = 0;
            if (!enif_get_list_cell(env, rest, &head, &tail)) {
                rest = argv[0];
                break;
            }
            rest = tail;
            ++walked;
        }
        if (head != 0 && made_count < kMade) {
            made = enif_make_list_cell(env, head, made);
            ++made_count;
        }
    }
    return enif_make_tuple2(env, enif_make_uint64(env, walked), made);
}

static ErlNifFunc functions[] = {{"hold", 2, hold_nif, ERL_NIF_DIRTY_JOB_CPU_BOUND},
                                 {"hold_here", 2, hold_nif, 0}};

ERL_NIF_INIT(storm, functions, NULL, NULL, NULL, NULL)
