/* Native calls for dying.erl that end the node's process. */
#include <erl_nif.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Kept as frames of their own. */
#define FRAME __attribute__((noinline, noclone))

/* Nobody changes them. */
static volatile int never = 0;
static int* volatile nowhere = NULL;

static FRAME int read_through_null(void) {
    return *nowhere + 1;
}

/* A page of a mapping behind the end of its file. */
static FRAME int read_behind_the_end(const char* path) {
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    volatile const char* mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0);
    return file < 0 || mapped == MAP_FAILED ? -1 : mapped[4096] + 1;
}

static FRAME void free_it_twice(void) {
    char* volatile one = malloc(4000);
    char* volatile other = malloc(4000);
    if (one == NULL || other == NULL) {
        return;
    }
    memset(one, 1, 4000);
    free(one);
    free(one);
    free(other);
}

static FRAME int recurse(int depth) {
    volatile char room[512];
    memset((char*)room, depth, sizeof(room));
    return never ? depth : recurse(depth + 1) + room[depth % 512];
}

static FRAME void run_nonsense(void) {
    __asm__ volatile("ud2");
}

static FRAME void give_up(void) {
    abort();
}

static ERL_NIF_TERM die_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    (void)argc;
    char how[32];
    char path[512];
    if (enif_get_atom(env, argv[0], how, sizeof(how), ERL_NIF_LATIN1) == 0 ||
        enif_get_string(env, argv[1], path, sizeof(path), ERL_NIF_LATIN1) <= 0) {
        return enif_make_badarg(env);
    }
    int result = 0;
    if (strcmp(how, "null") == 0) {
        result = read_through_null();
    } else if (strcmp(how, "bus") == 0) {
        result = read_behind_the_end(path);
    } else if (strcmp(how, "double_free") == 0) {
        free_it_twice();
    } else if (strcmp(how, "overflow") == 0) {
        result = recurse(1);
    } else if (strcmp(how, "illegal") == 0) {
        run_nonsense();
    } else if (strcmp(how, "abort") == 0) {
        give_up();
    }
    return enif_make_int(env, result);
}

static ErlNifFunc functions[] = {
    {"die", 2, die_nif, 0},
    {"dirty_die", 2, die_nif, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};

ERL_NIF_INIT(dying, functions, NULL, NULL, NULL, NULL)
