// Reads arbitrary bytes as the machine code of a function: what is known of a place is that of an
// instruction, and of a frame no larger than one can be; and of no more x registers than are told
// apart.

#include <libvm/arch/x86_64/frame_code.h>
#include <libvm/arch/x86_64/instruction.h>

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t kAddress = 0x100000;
    constexpr std::size_t kLongest = 32;
    constexpr std::uint32_t kMostWords = 2048, kMostRegisters = 256;
    constexpr std::uint64_t kMostArguments = 300;
    const auto code = std::as_bytes(std::span(data, size));
    for (std::size_t at = 0; at < size; ++at) {
        const auto one = beamdump::beam::first_instruction(code.subspan(at));
        if (one && (one->bytes == 0 || one->bytes > kLongest || one->bytes > size - at)) {
            __builtin_trap();
        }
    }
    const auto read = beamdump::beam::FrameCode::read(code, kAddress);
    for (std::size_t at = 0; read && at < size; ++at) {
        const auto place = read->at(kAddress + at);
        if (place &&
            (place->words > kMostWords || !beamdump::beam::first_instruction(code.subspan(at)))) {
            __builtin_trap();
        }
    }
    constexpr std::uint64_t kEffects = 4;
    const beamdump::beam::FrameEntry entry{
        size % kMostArguments, [](const beamdump::beam::FrameCall& call) {
            return static_cast<beamdump::beam::CallEffect>(call.target.value_or(0) % kEffects);
        }};
    const auto with = beamdump::beam::FrameCode::read(code, kAddress, entry);
    for (std::size_t at = 0; with && at < size; ++at) {
        const auto place = with->at(kAddress + at);
        if (place && place->x_registers > kMostRegisters) {
            __builtin_trap();
        }
    }
    return 0;
}
