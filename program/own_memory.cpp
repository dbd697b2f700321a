#include <libdump/base/return_if_error.h>
#include <libdump/base/system/first_to_go.h>
#include <libvm/target/process/proc_directory.h>
#include <program/own_memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <malloc.h>
#include <pthread.h>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace beamdump::program {
namespace {

/// The streams, the C library's idea of the program's name, and all that has a constructor are not
/// there yet. What cannot be found out does not end the program.
void before_all(int /*count*/, char** arguments, char** /*environment*/) {
    be_first_to_go();
    const auto own = target::HeadRoom::of(::getpid());
    const auto left = own ? own->memory(kStartBytes) : std::unexpected(own.error());
    const auto enough = left ? check_own_memory(*left, kStartBytes) : Result<void>();
    if (!enough) {
        const std::string_view path = *arguments == nullptr ? "beamdump" : *arguments;
        const auto sentence =
            fmt::format("{}: {}\n", path.substr(path.rfind('/') + 1), enough.error().message);
        [[maybe_unused]] const auto said = ::write(STDERR_FILENO, sentence.data(), sentence.size());
        ::_exit(1);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Called by the dynamic loader when all libraries are in place, or by the C library of a static
/// program. Not with sanitizers, which are not initialised then.
[[gnu::used, gnu::section(".preinit_array")]] void (*first)(int, char**, char**) = before_all;
#endif

}  // namespace

Result<void> check_own_memory(const target::Room& left, std::uint64_t needed) {
    if (left.amount >= needed) {
        return {};
    }
    return fail(
        ErrorCode::kLimit,
        fmt::format("this program needs {} of memory, and {} are left: {}; run it where the limit "
                    "does not hold: for a node in a container on the container's host, with the "
                    "node's process id there",
                    mebibytes_text(needed), mebibytes_text(left.amount), left.limit));
}

Result<void> limit_own_memory(std::uint64_t bytes) {
    // What is there already, page tables, and pages of the program's file.
    constexpr std::uint64_t kBeside = std::uint64_t{4} << 20U;
    constexpr std::size_t kStackBytes = 256U << 10U;
    constexpr int kKeptBytes = 64 << 10;
    ASSIGN_OR_RETURN(const auto directory, target::ProcDirectory::open(::getpid()));
    ASSIGN_OR_RETURN(const auto statm, directory.read("statm"));
    // "size resident shared text lib data dt", in pages.
    std::uint64_t data_pages = 0;
    if (std::sscanf(statm.c_str(), "%*u %*u %*u %*u %*u %" SCNu64, &data_pages) != 1) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("cannot parse /proc/self/statm: \"{}\"", statm));
    }
    const auto data = data_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    rlimit limit{};
    if (::getrlimit(RLIMIT_DATA, &limit) == 0) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, data + bytes - kBeside);
    }
    pthread_attr_t stacks{};
    ::pthread_attr_init(&stacks);
    ::pthread_attr_setstacksize(&stacks, kStackBytes);
    const bool done =
        ::setrlimit(RLIMIT_DATA, &limit) == 0 && ::pthread_setattr_default_np(&stacks) == 0;
    ::pthread_attr_destroy(&stacks);
    if (!done) {
        return fail(ErrorCode::kLimit, "this program cannot limit its own memory");
    }
    // Large blocks are given back when they are freed, and so is the end of the heap.
    ::mallopt(M_MMAP_THRESHOLD, kKeptBytes);
    ::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    ::mallopt(M_TOP_PAD, 0);
    return {};
}

// A static library's object is linked for what is called of it.
void keep_before_all() {}

}  // namespace beamdump::program
