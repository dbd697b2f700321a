#include <libdump/base/return_if_error.h>
#include <libvm/target/core/core_arguments.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <optional>
#include <ranges>

namespace beamdump::target {
namespace {

using memory::Address;

// Arguments and environment together may take a quarter of the stack's limit, 2 MiB of the usual 8.
constexpr std::uint64_t kMaxStackTopBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kMaxPointers = 1'000'000;
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;  // all together
constexpr std::size_t kTextAtOnce = 256;

std::unexpected<Error> not_found() {
    return fail(ErrorCode::kAbsent,
                "the command line and environment are not on the stack that the core holds");
}

/// The words of the stack up to the string that the kernel put above everything else.
struct Stack {
    Address begin = 0;
    std::vector<std::uint64_t> words;
};

Result<Stack> read_stack(const CoreFile& core, memory::MemorySource& memory) {
    const auto text = core.auxiliary(AT_EXECFN);
    const auto segment = std::ranges::find_if(
        core.segments(), [&](const CoreSegment& one) { return text && one.range.contains(*text); });
    if (segment == core.segments().end()) {
        return not_found();
    }
    const auto end = *text / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    const auto lowest = std::max(segment->range.begin, end - std::min(end, kMaxStackTopBytes));
    Stack stack;
    stack.begin =
        (lowest + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    stack.words.resize((end - std::min(stack.begin, end)) / sizeof(std::uint64_t));
    RETURN_IF_ERROR(memory.read(stack.begin, std::as_writable_bytes(std::span(stack.words))));
    return stack;
}

/// The index of the word at which the auxiliary vector begins.
std::optional<std::size_t> find_auxiliary(const CoreFile& core, const Stack& stack) {
    std::vector<std::uint64_t> wanted;
    for (const auto& entry : core.auxiliary()) {
        wanted.insert(wanted.end(), {entry.type, entry.value});
    }
    const auto found = std::ranges::find_end(stack.words, wanted);
    if (wanted.empty() || found.empty()) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(found.begin() - stack.words.begin());
}

/// Pointers to texts: below the auxiliary vector stand a zero, the environment upside down, a zero,
/// the arguments, and how many they are.
struct Pointers {
    std::span<const std::uint64_t> arguments;
    std::span<const std::uint64_t> environment;
};

std::optional<Pointers> find_pointers(const Stack& stack, std::size_t auxiliary) {
    const std::span words(stack.words);
    std::size_t at = auxiliary;
    if (at == 0 || words[at - 1] != 0) {
        return std::nullopt;
    }
    const auto environment_end = --at;
    while (at > 0 && words[at - 1] != 0) {
        --at;
    }
    if (at == 0) {
        return std::nullopt;
    }
    const auto environment = words.subspan(at, environment_end - at);
    const auto end = --at;  // the zero behind the arguments
    for (std::size_t count = 0; at > 0 && count < kMaxPointers; ++count, --at) {
        if (words[at - 1] == count) {
            return Pointers{words.subspan(at, end - at), environment};
        }
    }
    return std::nullopt;
}

Result<std::string> text_at(Address address, std::size_t most_bytes, memory::MemorySource& memory) {
    std::string text;
    while (text.size() < most_bytes) {
        const auto before = text.size();
        text.resize(before + kTextAtOnce);
        ASSIGN_OR_RETURN(auto got,
                         memory.read_some(address + before,
                                          std::as_writable_bytes(std::span(text).subspan(before))));
        text.resize(before + got);
        if (const auto end = text.find('\0', before); end != std::string::npos) {
            text.resize(end);
            return text;
        }
    }
    return not_found();
}

Result<std::vector<std::string>> texts_on_stack(const CoreFile& core, memory::MemorySource& memory,
                                                std::span<const std::uint64_t> Pointers::* which) {
    ASSIGN_OR_RETURN(const auto stack, read_stack(core, memory));
    const auto auxiliary = find_auxiliary(core, stack);
    const auto pointers = auxiliary ? find_pointers(stack, *auxiliary) : std::nullopt;
    if (!pointers) {
        return not_found();
    }
    std::vector<std::string> texts;
    std::size_t room = kMaxTextBytes;
    for (const auto pointer : (*pointers).*which) {
        ASSIGN_OR_RETURN(auto text, text_at(pointer, room, memory));
        room -= std::min(room, text.size() + 1);
        texts.push_back(std::move(text));
    }
    return texts;
}

}  // namespace

Result<std::vector<std::string>> arguments_on_stack(const CoreFile& core,
                                                    memory::MemorySource& memory) {
    return texts_on_stack(core, memory, &Pointers::arguments);
}

Result<std::vector<std::string>> environment_on_stack(const CoreFile& core,
                                                      memory::MemorySource& memory) {
    return texts_on_stack(core, memory, &Pointers::environment);
}

}  // namespace beamdump::target
