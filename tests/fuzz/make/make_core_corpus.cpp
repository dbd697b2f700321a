// Makes core_file_fuzz's corpus: make_core_corpus DIRECTORY

#include "support/core_builder.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using beamdump::test::CoreBuilder;

constexpr std::uint64_t kStack = 0x7ffc00000000;

/// A stack with two arguments and one variable, below the auxiliary vector.
std::string stack(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& auxiliary) {
    std::string words(64, '\x11');
    for (const std::uint64_t word : {std::uint64_t{2}, kStack + 1024, kStack + 1033,
                                     std::uint64_t{0}, kStack + 1036, std::uint64_t{0}}) {
        words += CoreBuilder::bytes_of(word);
    }
    words += CoreBuilder::auxiliary_bytes(auxiliary);
    words.resize(1024);
    words += std::string("beam.smp\0--\0HOME=/\0/bin/beam.smp\0", 33);
    words.resize(2048);
    return words;
}

CoreBuilder core() {
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> auxiliary = {
        {AT_PHDR, 0x400040}, {AT_ENTRY, 0x401000}, {AT_EXECFN, kStack + 1043}};
    CoreBuilder builder;
    builder.process(4242, "beam.smp", "beam.smp -- -root /usr/lib/erlang")
        .thread(4242, 0x401234, kStack + 8)
        .auxiliary(auxiliary)
        .files({{0x400000, 0x402000, 0, "/bin/beam.smp"}, {0x500000, 0x501000, 2, "/lib/c.so"}})
        .note(NT_X86_XSTATE, std::string(64, 'x'), "LINUX")
        .thread(4243, 0x401235, kStack + 16)
        .segment({0x400000, 8192, std::string(256, '\x7f'), PF_R})
        .segment({0x402000, 4096, "", 0})
        .segment({0x600000, 8192, std::string(4096, '\0') + std::string(4096, 'd')})
        .segment({kStack, 4096, stack(auxiliary)});
    return builder;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: make_core_corpus DIRECTORY\n");
        return 2;
    }
    auto of_kernel = core();
    auto of_gcore = core();
    of_gcore.notes_last = true;
    const auto whole = of_kernel.build();
    for (const auto& [name, bytes] : {std::pair{"kernel", whole},
                                      {"gcore", of_gcore.build()},
                                      {"cut", whole.substr(0, whole.size() - 3000)}}) {
        std::ofstream(std::filesystem::path(arguments[1]) / name, std::ios::binary) << bytes;
    }
    return 0;
}
