/* A NIF for filtered.erl: a seccomp filter, on all threads, that kills the process for making another
 * one and lets it make threads. */
#include <erl_nif.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/* install() -> 0 | Errno */
static ERL_NIF_TERM install_nif(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    struct sock_filter code[] = {
        LOAD(nr),
        IF_EQUAL(SYS_fork, 6, 0),
        IF_EQUAL(SYS_vfork, 5, 0),
        IF_EQUAL(SYS_clone3, 5, 0), /* its flags cannot be seen: libc falls back to clone */
        IF_EQUAL(SYS_clone, 0, 2),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    (void)argc;
    (void)argv;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        return enif_make_int(env, errno);
    }
    return enif_make_int(env, 0);
}

static ErlNifFunc functions[] = {{"install", 0, install_nif, 0}};

ERL_NIF_INIT(filtered, functions, NULL, NULL, NULL, NULL)
