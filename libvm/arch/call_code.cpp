#include <libvm/arch/aarch64/call_code.h>
#include <libvm/arch/aarch64/frame_records.h>
#include <libvm/arch/call_code.h>
#include <libvm/arch/x86_64/call_code.h>

#include <array>

namespace beamdump::arch {
namespace {

constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);
/// Words of the C stack of x86-64 in which the frame lies of the function that compiled code calls.
constexpr std::size_t kFrameWords = 32;

std::optional<NativeReturns> returns_on_x86(std::uint64_t registers, memory::MemorySource& memory) {
    std::array<std::uint64_t, kFrameWords + 1> words{};
    if (!memory.read(registers - sizeof(words), std::as_writable_bytes(std::span(words)))) {
        const auto outermost = memory.word(registers - kWordBytes);
        return outermost ? std::optional(NativeReturns{*outermost}) : std::nullopt;
    }
    return NativeReturns{words.back(), {words.begin(), words.end() - 1}};
}

}  // namespace

std::optional<FragmentCall> fragment_call(Architecture architecture, Code code, std::uint64_t begin,
                                          Called called, const TopFields& fields) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::fragment_call(code, begin, called, fields);
        case Architecture::kAarch64:
            return aarch64::fragment_call(code, called, fields);
    }
    return std::nullopt;
}

std::optional<std::size_t> behind_register_call(Architecture architecture, Code code) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::behind_register_call(code, 0);
        case Architecture::kAarch64:
            return aarch64::behind_register_call(code);
    }
    return std::nullopt;
}

bool takes_stack_from_structure(Architecture architecture, Code code, const TopFields& fields) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::stack_from_structure(code, fields.stack_top).has_value();
        case Architecture::kAarch64:
            return aarch64::stack_from_structure(code, fields);
    }
    return false;
}

bool calls_register(Architecture architecture, Code code) {
    switch (architecture) {
        case Architecture::kX86_64:
            return code.size() >= 2 && x86_64::is_register_call(code.last<2>());
        case Architecture::kAarch64:
            return aarch64::behind_register_call(code) == code.size();
    }
    return false;
}

std::optional<std::uint32_t> last_frame_bytes(Architecture architecture, Code code) {
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::last_frame_bytes(code);
        case Architecture::kAarch64:
            return aarch64::last_frame_bytes(code);
    }
    return std::nullopt;
}

std::size_t live_before_bytes(Architecture architecture) {
    return architecture == Architecture::kX86_64 ? x86_64::kLiveBefore : aarch64::kLiveBefore;
}

std::optional<std::uint64_t> live_before_call(Architecture architecture, Code code) {
    if (code.size() != live_before_bytes(architecture)) {
        return std::nullopt;
    }
    switch (architecture) {
        case Architecture::kX86_64:
            return x86_64::live_before_call(code.first<x86_64::kLiveBefore>());
        case Architecture::kAarch64:
            return aarch64::live_before_call(code.first<aarch64::kLiveBefore>());
    }
    return std::nullopt;
}

std::optional<NativeReturns> native_returns(Architecture architecture,
                                            const ThreadRegisters& thread, std::uint64_t registers,
                                            memory::MemorySource& memory) {
    if (architecture == Architecture::kX86_64) {
        return returns_on_x86(registers, memory);
    }
    return aarch64::native_returns(thread, registers, memory);
}

}  // namespace beamdump::arch
