#include "program/own_memory.h"

#include <libdump/base/first_to_go.h>

#include <fmt/format.h>

#include <string_view>
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

// A static library's object is linked for what is called of it.
void keep_before_all() {}

}  // namespace beamdump::program
