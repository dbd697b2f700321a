/* Native calls for emulator.erl: one that returns once a file is there, resources, and a leak. */
#include <erl_nif.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMostPath = 4096, kStep = 1000 };

static ErlNifResourceType* planted = NULL;

static void planted_destructor(ErlNifEnv* env, void* resource) {
    (void)env;
    memset(resource, 0, sizeof(int));
}

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) {
    (void)data;
    (void)info;
    planted =
        enif_open_resource_type(env, NULL, "planted", planted_destructor, ERL_NIF_RT_CREATE, NULL);
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

/* circle(Resource, Offset): the reference's own list of off-heap objects leads from it to itself, so
   that its process is never freed. So that the resource lives on, its reference count is set, which is
   at that offset of a Binary. The magic reference has the Binary in its second word and the next
   member in its third (OTP 25 to 29). */
static ERL_NIF_TERM circle_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    enum { kBoxed = 2, kBinary = 1, kNext = 2, kEnough = 60 };
    unsigned long offset = 0;
    unsigned long* thing = (unsigned long*)(argv[0] - kBoxed);
    (void)argc;
    if (!enif_get_ulong(env, argv[1], &offset)) {
        return enif_make_badarg(env);
    }
    *(unsigned long*)(thing[kBinary] + offset) = 1UL << kEnough;
    thing[kNext] = (unsigned long)thing;
    return enif_make_atom(env, "ok");
}

/* The data of binaries that are kept: only this native code has their addresses. */
enum { kMostKept = 4096 };
static unsigned char* volatile kept[kMostKept];

/* Makes as many binaries of as many bytes, all `first`. */
static ERL_NIF_TERM make_binaries(ErlNifEnv* env, const ERL_NIF_TERM argv[], int first, int keep) {
    unsigned count = 0;
    unsigned long size = 0;
    if (!enif_get_uint(env, argv[0], &count) || !enif_get_ulong(env, argv[1], &size) ||
        (keep && count > kMostKept)) {
        return enif_make_badarg(env);
    }
    for (unsigned number = 0; number < count; ++number) {
        ErlNifBinary binary;
        if (!enif_alloc_binary(size, &binary)) {
            return enif_make_badarg(env);
        }
        memset(binary.data, first, size);
        if (keep) {
            kept[number] = binary.data;
        }
    }
    return enif_make_atom(env, "ok");
}

/* leak(Count, Size): nobody gives them back, nor has their addresses. */
static ERL_NIF_TERM leak_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    return make_binaries(env, argv, 'L', 0);
}

/* keep(Count, Size): once. */
static ERL_NIF_TERM keep_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    return make_binaries(env, argv, 'K', 1);
}

static ErlNifFunc functions[] = {
    {"leak", 2, leak_nif, 0},
    {"keep", 2, keep_nif, 0},
    {"hold", 2, hold_nif, 0},
    {"resource", 0, resource_nif, 0},
    {"circle", 2, circle_nif, 0},
};

ERL_NIF_INIT(emulator, functions, load, NULL, NULL, NULL)
