#pragma once

#include <libdump/term/term_context.h>
#include <libdump/term/term_scheme.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace beamdump {

/// The saved instruction pointer and stack of a process that does not run. Addresses are the
/// node's.
struct ProcessStack {
    std::uint64_t instruction = 0;  ///< saved instruction pointer (`i`)
    std::uint64_t top = 0;          ///< lowest used word
    std::uint64_t bottom = 0;       ///< one past the highest word (the heap block's end)
};

struct StackEntry {
    enum class Kind : std::uint8_t {
        kReturnAddress,
        kCatch,     ///< a y register that holds a catch; code_address is where it leads
        kRegister,  ///< a y register that holds a term
        kMissing,   ///< the words from address to the bottom are not in the dump
    };
    Kind kind = Kind::kMissing;
    std::uint64_t address = 0;  ///< of the stack word
    std::uint64_t word = 0;
    std::uint64_t register_index = 0;
    std::optional<std::uint64_t> code_address =
        std::nullopt;  ///< of a catch; nullopt: not in the catch table
};

/// Walks a stack from its top (the current function) to its bottom, one word an entry. For frame
/// layouts with return addresses only (the JIT's default; OTP 24 to 26): a word tagged as a header
/// is a return address (erl_process.c, stack_element_dump, OTP 25.2.3). Holds 4 KiB.
class StackWalk {
  public:
    StackWalk(TermContext& context, const TagScheme& scheme, const ProcessStack& stack);

    /// The next entry; nullopt after the last. A stack whose bounds contradict each other (not
    /// aligned, bottom below top) is one kMissing entry.
    std::optional<StackEntry> next();

  private:
    static constexpr std::size_t kBlockWords = 512;

    [[nodiscard]] bool fill();

    TermContext* context_;  ///< non-owning
    TagScheme scheme_;
    std::uint64_t at_;
    std::uint64_t bottom_;
    bool broken_ = false;
    std::uint64_t register_index_ = 0;
    std::array<std::uint64_t, kBlockWords> block_{};
    std::size_t block_at_ = 0;
    std::size_t block_size_ = 0;
};

}  // namespace beamdump
