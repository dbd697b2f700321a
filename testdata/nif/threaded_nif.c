/* Threads for threaded.erl: two wait for mutexes that a third one has, one uses all of a processor; a
 * resource whose destructor does, too. */
#define _GNU_SOURCE
#include <erl_nif.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kStep = 1000, kText = 16 };

/* Kept as frames of their own. */
#define FRAME __attribute__((noinline, noclone))

/* Nobody changes it. */
static volatile int never = 0;
static volatile int held = 0;
static volatile int wanted = 0;

/* A symbol of the library. */
pthread_mutex_t planted_mutex = PTHREAD_MUTEX_INITIALIZER;
static ErlNifMutex* named = NULL;
static ErlNifResourceType* burning = NULL;

static FRAME unsigned long burn(void) {
    unsigned long turns = 0;
    while (!never) {
        ++turns;
    }
    return turns;
}

static void* hold(void* unused) {
    pthread_mutex_lock(&planted_mutex);
    enif_mutex_lock(named);
    held = (int)syscall(SYS_gettid);
    while (!never) {
        pause();
    }
    return unused;
}

static FRAME void* want(void* unused) {
    wanted = (int)syscall(SYS_gettid);
    enif_mutex_lock(named);
    return unused;
}

static void* burn_alone(void* unused) {
    burn();
    return unused;
}

static void destroy(ErlNifEnv* env, void* resource) {
    (void)env;
    (void)resource;
    burn();
}

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) {
    (void)data;
    (void)info;
    burning = enif_open_resource_type(env, NULL, "burning", destroy, ERL_NIF_RT_CREATE, NULL);
    named = enif_mutex_create("threaded_mutex");
    return burning == NULL || named == NULL;
}

static int start(const char* name, void* (*function)(void*)) {
    ErlNifTid id;
    char text[kText];
    int at = 0;
    for (; name[at] != '\0'; ++at) {
        text[at] = name[at];
    }
    text[at] = '\0';
    return enif_thread_create(text, &id, function, NULL, NULL);
}

/* threads(): {ThreadOfHolder, ThreadOfWanter, AddressOfItsMutex, AddressOfPlanted} */
static ERL_NIF_TERM threads_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    if (start("planted_holder", hold) != 0) {
        return enif_make_badarg(env);
    }
    while (held == 0) {
        usleep(kStep);
    }
    if (start("planted_wanter", want) != 0 || start("planted_burner", burn_alone) != 0) {
        return enif_make_badarg(env);
    }
    while (wanted == 0) {
        usleep(kStep);
    }
    return enif_make_tuple4(env, enif_make_int(env, held), enif_make_int(env, wanted),
                            enif_make_uint64(env, (ErlNifUInt64)named),
                            enif_make_uint64(env, (ErlNifUInt64)&planted_mutex));
}

/* wanting(): for ever, on the scheduler that it is called on. */
static ERL_NIF_TERM wanting_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    pthread_mutex_lock(&planted_mutex);
    return enif_make_atom(env, "ok");
}

/* burning(): for ever. */
static ERL_NIF_TERM burning_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    (void)argv;
    return enif_make_uint64(env, burn());
}

/* reading(): of a pipe that nobody writes to. */
static ERL_NIF_TERM reading_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    int ends[2];
    char byte = 0;
    (void)argc;
    (void)argv;
    return enif_make_int(env, pipe(ends) == 0 ? (int)read(ends[0], &byte, 1) : -1);
}

/* resource() */
static ERL_NIF_TERM resource_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    void* resource = enif_alloc_resource(burning, sizeof(int));
    ERL_NIF_TERM term = enif_make_resource(env, resource);
    (void)argc;
    (void)argv;
    enif_release_resource(resource);
    return term;
}

static ErlNifFunc functions[] = {
    {"threads", 0, threads_nif, 0},
    {"wanting", 0, wanting_nif, 0},
    {"burning", 0, burning_nif, 0},
    {"reading", 0, reading_nif, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"resource", 0, resource_nif, 0},
};

ERL_NIF_INIT(threaded, functions, load, NULL, NULL, NULL)
