#pragma once

#include <libsample/node/observed_node.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::sampler {

/// The most that is read of a stack, from its top on.
inline constexpr std::uint64_t kMostStackWords = std::uint64_t{1} << 16U;

/// Words of an Erlang stack, from its top (the lowest address) towards its bottom.
struct StackWords {
    Address begin = 0;  ///< of the first word
    std::span<const std::uint64_t> words;
    /// One past the stack's last word; nothing: unknown, then the stack ends where its first
    /// function returns to (SharedCode::normal_exit()).
    std::optional<Address> bottom;
};

/// A stack as code addresses.
struct StackFrames {
    Address instruction = 0;         ///< where the process is
    std::vector<Address> returns{};  ///< return addresses, the innermost first
    bool more = false;               ///< further return addresses are left out
};

/// What addresses on a stack can be.
struct StackRules {
    std::function<bool(Address)> in_code;  ///< of a module or shared
    Address normal_exit = 0;  ///< where the first function of a process returns to; 0: unknown
};
StackRules rules_of(const ObservedNode& node);

/// The return addresses among the words, at most `most`. On a stack, a word that is tagged as a
/// header is a return address (erl_process.c, stack_element_dump, OTP 25 to 29), or a frame pointer
/// of a node with +JPfp, which leads further down the same stack. kImplausible: one is neither, or
/// words of known extent do not end as a process does; these words are no stack.
Result<StackFrames> walk_stack(const StackRules& rules, Address instruction,
                               const StackWords& stack, std::size_t most);

/// Puts the return address of a process in shared code that was called before the other frames. Its
/// stack begins with `words`: the first one, or with frame pointers the second, is that address.
/// Some calls leave one that is not aligned as a tagged word, which walk_stack() takes for a term
/// (safe_fragment_call(), jit/x86/beam_asm.hpp, OTP 25 to 29). False: it is no return address.
bool add_fragment_return(ObservedNode& node, std::span<const std::uint64_t> words,
                         StackFrames& frames);

/// The stack of a process that was interrupted in Erlang code: `instruction` and the words from the
/// stack's top on are of one moment. `link`: of aarch64, what x30 had, which is where the function
/// or fragment returns to if the stack lacks that. The innermost frame may have just been made,
/// with words in it that were not written yet; kChanged: where it ends is not certain. kImplausible
/// as walk_stack().
Result<StackFrames> walk_interrupted(ObservedNode& node, Address instruction,
                                     std::optional<Address> link, const StackWords& stack,
                                     std::size_t most);

/// Whether a place in a module's code is in none of its functions: before the first or behind the
/// last are jumps to shared code, which all of them use.
bool between_functions(ObservedNode& node, Address place);

/// Whether the innermost frame may be half made: code before the place in it takes `frame_bytes`
/// for a frame, and both there and earlier among the words is a return address. `words`: from the
/// stack's top on.
bool may_be_half_made(const StackRules& rules, std::span<const std::uint64_t> words,
                      std::uint32_t frame_bytes);

}  // namespace beamdump::sampler
