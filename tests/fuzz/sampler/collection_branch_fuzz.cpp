// Looks in arbitrary machine code for the branch to the collection after a BIF: what is found is in
// the code, and moves with it.

#include <libvm/arch/x86_64/call_code.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    const auto found = beamdump::arch::x86_64::collection_branch(input);
    if (found && *found >= size) {
        std::abort();
    }
    constexpr std::byte kNop{0x90};
    constexpr std::size_t kBefore = 16;
    std::vector<std::byte> code(kBefore, kNop);
    code.insert(code.end(), input.begin(), input.end());
    const auto moved = beamdump::arch::x86_64::collection_branch(code);
    if (moved.has_value() != found.has_value() || (found && *moved != *found + kBefore)) {
        std::abort();
    }
    return 0;
}
