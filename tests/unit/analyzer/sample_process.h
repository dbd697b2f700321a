#pragma once

#include "support/dump_builder.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::test {

/// Atoms of the sample dump, by index.
enum SampleAtom : std::uint32_t {
    kFalseAtom,
    kTrueAtom,
    kNodeAtom,
    kModuleAtom,  // as DumpBuilder::add_code() names it
    kLoopAtom,
    kAlphaAtom,
    kQuotedAtom,
    kSecretAtom,
};

inline const std::vector<std::string> kSampleAtoms = {"false", "true",  "sample@host",  "demo",
                                                      "loop",  "alpha", "Needs Quotes", "secret"};

inline constexpr std::uint64_t kNormalExit = 0x9000;
inline constexpr std::uint64_t kReturnAddress = 0x7080;

constexpr std::uint64_t small_word(std::uint64_t value) {
    return value << 4U | 0xFU;
}
constexpr std::uint64_t atom_word(std::uint64_t index) {
    return index << 6U | 0xBU;
}
constexpr std::uint64_t pid_word(std::uint64_t number) {
    return number << 4U | 3U;
}
constexpr std::uint64_t boxed_word(std::uint64_t address) {
    return address | 2U;
}
constexpr std::uint64_t list_word(std::uint64_t address) {
    return address | 1U;
}
constexpr std::uint64_t tuple_header(std::uint64_t arity) {
    return arity << 6U;
}

/// One process of the sample dump. Its heap is at heap_of(number), its dictionary and its stack
/// apart from it.
struct SampleProcess {
    std::uint64_t number = 1;
    std::optional<std::uint32_t> name = {};
    std::uint64_t memory = 1000;
    std::uint64_t reductions = 10;
    records::VoidReason void_reason = records::VOID_REASON_NONE;
    bool sensitive = false;
    std::vector<std::uint64_t> heap = {};
    std::vector<std::uint64_t> stack = {kNormalExit};
    std::vector<std::uint64_t> dictionary = {};
    std::vector<std::uint64_t> messages = {};    ///< terms
    std::vector<records::Message> entries = {};  ///< further entries of its queues
    std::size_t entries_of_a_record = 4096;
    std::vector<records::Monitor> monitors = {};     ///< further ones
    std::uint64_t off_heap = 0;                      ///< first of the list of off-heap things
    std::optional<std::uint64_t> binary_bytes = {};  ///< that it keeps, as its heap counts them
    std::uint32_t initial_module = kModuleAtom;
    std::uint32_t initial_function = kLoopAtom;
    std::uint32_t initial_arity = 1;
    std::optional<std::uint64_t> queue_length = {};  ///< as counted; else that of `messages`
    std::optional<std::uint64_t> dictionary_entries = {};
    /// Module and function atoms and arity of the current function; else the initial call.
    std::optional<std::array<std::uint32_t, 3>> current = {};
    /// Of demo:alpha, as the translated initial call.
    std::optional<std::uint32_t> translated_arity = {};
    std::uint32_t translated_module = kModuleAtom;
    std::uint64_t instruction_address = 0x7050;
    std::optional<std::uint32_t> monitored_name = {};  ///< an atom
    std::vector<std::uint64_t> arguments = {};         ///< saved x registers
    bool hibernated = false;
    std::optional<records::ProcessStatus> status = {};  ///< else as void_reason says
    std::optional<std::uint32_t> state_bits = {};
    std::vector<records::SystemTask> system_tasks = {};
    std::optional<std::uint32_t> trace_flags = {};
    std::optional<std::uint32_t> naming_keys_absent = {};
    std::vector<records::Tracing> tracing = {};
    std::optional<std::uint64_t> monitored = {};     ///< as the index has it
    std::optional<std::uint64_t> monitored_by = {};  ///< as the index has it
};

constexpr std::uint64_t heap_of(std::uint64_t number) {
    return 0x100000 * (number + 1);
}
constexpr std::uint64_t stack_of(std::uint64_t number) {
    return heap_of(number) + 0x80000;
}
constexpr std::uint64_t dictionary_of(std::uint64_t number) {
    return heap_of(number) + 0xC0000;
}

/// `alpha`: {k, 42} in the dictionary, two messages, a frame with [1,2] in y(0) and a catch in
/// y(1).
inline SampleProcess alpha_process() {
    SampleProcess alpha;
    alpha.number = 1;
    alpha.name = kAlphaAtom;
    alpha.memory = 5000;
    alpha.reductions = 1234567;
    const std::uint64_t heap = heap_of(1);
    alpha.heap = {small_word(1),   list_word(heap + 16), small_word(2), kNil,
                  tuple_header(2), atom_word(kLoopAtom), small_word(42)};
    // A catch's word: its index in the catch table, tagged (erl_term.h).
    constexpr std::uint64_t kCatchZero = 0x1B;
    alpha.stack = {list_word(heap), kCatchZero, kReturnAddress, atom_word(kTrueAtom), kNormalExit};
    alpha.dictionary = {kNil, boxed_word(heap + 32), kNil};
    alpha.messages = {small_word(7), list_word(heap)};
    return alpha;
}

}  // namespace beamdump::test
