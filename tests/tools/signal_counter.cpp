// signal_counter FILE: counts signals exactly, of each number in its eight bytes of FILE, which is
// mapped: SIGUSR2 and the real-time ones, which the kernel queues. Two threads work, two sleep, and
// one, "counter", waits in read(2) on standard input, at whose end the process ends. Any of them
// may be interrupted by a signal.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int kSignals = 65;
using Counts = std::array<std::atomic<std::uint64_t>, kSignals>;

/// Where the handler finds it, which is given nothing.
Counts& counts(void* mapped = nullptr) {
    static auto* const kept = static_cast<Counts*>(mapped);
    return *kept;
}

void count(int signal) {
    ++counts()[static_cast<std::size_t>(signal)];
}

void work() {
    for (std::atomic<std::uint64_t> turn = 0;; ++turn) {
        if (turn % 1'000'000 == 0) {
            ::getppid();
        }
    }
}

void sleep_for_ever() {
    while (true) {
        ::pause();
    }
}

void wait_for_the_end() {
    ::pthread_setname_np(::pthread_self(), "counter");
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) != 0) {
    }
    ::_exit(0);
}

}  // namespace

int main(int argument_count, char** arguments) {
    const int file = argument_count == 2 ? ::open(arguments[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ::ftruncate(file, sizeof(Counts)) != 0) {
        std::fputs("usage: signal_counter FILE\n", stderr);
        return 2;
    }
    counts(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    struct sigaction action{};
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR2, &action, nullptr);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
        ::sigaction(signal, &action, nullptr);
    }
    for (int i = 0; i < 2; ++i) {
        std::thread(work).detach();
        std::thread(sleep_for_ever).detach();
    }
    std::puts("ready");
    std::fflush(stdout);
    wait_for_the_end();
}
