/* Native calls for emulator.erl: one that returns once a file is there, and resources. */
#include <erl_nif.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMostPath = 4096, kStep = 1000 };

static ErlNifResourceType* planted = NULL;

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) {
    (void)data;
    (void)info;
    planted = enif_open_resource_type(env, NULL, "planted", NULL, ERL_NIF_RT_CREATE, NULL);
    return planted == NULL ||
           enif_open_resource_type(env, NULL, "unused", NULL, ERL_NIF_RT_CREATE, NULL) == NULL;
}

/* hold(Begun, File): makes the one, waits for the other. */
static ERL_NIF_TERM hold_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    char path[kMostPath];
    int begun = -1;
    (void)argc;
    if (enif_get_string(env, argv[0], path, sizeof(path), ERL_NIF_LATIN1) > 0) {
        begun = open(path, O_CREAT | O_WRONLY, S_IRUSR | S_IWUSR);
    }
    if (begun < 0 || enif_get_string(env, argv[1], path, sizeof(path), ERL_NIF_LATIN1) <= 0) {
        return enif_make_badarg(env);
    }
    close(begun);
    while (access(path, F_OK) != 0) {
        usleep(kStep);
    }
    return enif_make_atom(env, "released");
}

/* resource() */
static ERL_NIF_TERM resource_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    void* resource = enif_alloc_resource(planted, sizeof(int));
    ERL_NIF_TERM term = enif_make_resource(env, resource);
    (void)argc;
    (void)argv;
    enif_release_resource(resource);
    return term;
}

static ErlNifFunc functions[] = {
    {"hold", 2, hold_nif, 0},
    {"resource", 0, resource_nif, 0},
};

ERL_NIF_INIT(emulator, functions, load, NULL, NULL, NULL)
