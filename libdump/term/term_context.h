#pragma once

#include <libdump/base/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// An atom's name in UTF-8; nullopt if the dump lacks it.
using AtomText = std::optional<std::string>;

struct FunctionName {
    std::uint32_t module_atom = 0;
    std::uint32_t function_atom = 0;
    std::uint32_t arity = 0;
};

/// A fun's entry in the runtime's fun table.
struct FunInfo {
    std::uint32_t module_atom = 0;
    std::uint32_t index = 0;    ///< the index within the module (old_index: as printed)
    std::int32_t old_uniq = 0;  ///< as printed
    std::uint32_t arity = 0;
    std::uint64_t code_address = 0;  ///< of the function that was made of it; 0: not in the dump
};

/// A node that external pids, ports and references point to.
struct NodeInfo {
    std::uint32_t name_atom = 0;
    std::uint32_t creation = 0;
    bool is_self = false;  ///< has the observed node's name, whatever its creation: channel 0
};

/// A reference-counted binary's structure.
struct BinaryInfo {
    struct Part {
        std::uint64_t first_byte = 0;
        std::uint64_t bytes = 0;
    };
    std::uint64_t data_address = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t captured_bytes = 0;         ///< from the first on
    std::optional<std::uint64_t> references;  ///< nullopt: a crash dump does not have it
    /// The captured bytes are all that the capture was to copy (--binary-bytes).
    bool as_asked = false;
    std::vector<Part> parts = {};  ///< captured behind the first bytes, in any order

    /// Behind the last of the bytes that were captured from `from` on without a gap.
    [[nodiscard]] std::uint64_t captured_until(std::uint64_t from) const;
};

/// From a function's ErtsCodeInfo to its mfa: an instruction and the breakpoint's address, a word
/// each (ErtsCodeInfo of code_ix.h: OTP 25.2.3, 27.3.4 and 29.1.1; the same two words stood before
/// a function's names in older releases).
constexpr std::uint64_t mfa_offset_of(std::uint64_t word_bytes) {
    return 2 * word_bytes;
}

/// The function or code point of a code address (return address, instruction pointer).
struct CodeLocation {
    std::optional<FunctionName> function;
    std::uint64_t function_start = 0;  ///< address of its ErtsCodeInfo
    std::uint64_t mfa_start = 0;  ///< address of its ErtsCodeMFA: printed offsets count from it
    /// For shared code: as the VM prints it, in angle brackets, or its name if the VM prints
    /// "unknown function".
    std::optional<std::string> code_point;
    std::optional<std::string> file;
    std::optional<std::uint32_t> line;
};

/// The source of words for the term layer: one process's regions, the literals and the node's
/// tables. Every function may fail with kAbsent (not in this dump) or kUnmapped (an address outside
/// all regions). Implementations may cache; not thread-safe.
class TermContext {
  public:
    TermContext() = default;
    TermContext(const TermContext&) = delete;
    TermContext& operator=(const TermContext&) = delete;
    virtual ~TermContext() = default;

    /// Copies words from a word-aligned address on: at least one, at most into.size(), as many as
    /// one region holds. Gives how many.
    virtual Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) = 0;

    /// The lowest address whose words are worth reading in one call with the word at `address`,
    /// that is where its region begins, if other regions would have to be looked for before it.
    virtual std::uint64_t words_begin(std::uint64_t /*address*/) { return 0; }

    /// Bytes of the longest region: an upper bound for lists, tuples and chains in untrusted data.
    [[nodiscard]] virtual std::uint64_t region_bytes_bound() const = 0;

    virtual AtomText atom(std::uint32_t index) = 0;
    virtual std::optional<FunctionName> export_at(std::uint64_t address) = 0;
    virtual std::optional<FunInfo> fun_entry_at(std::uint64_t address) = 0;
    virtual std::optional<NodeInfo> node_at(std::uint64_t address) = 0;
    virtual std::optional<std::uint64_t> catch_address(std::uint32_t index) = 0;
    virtual std::optional<CodeLocation> code_at(std::uint64_t address) = 0;
    virtual Result<BinaryInfo> binary_at(std::uint64_t address) = 0;
    /// Numbers of a magic reference, by the address of its magic binary; lowest first.
    virtual std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) = 0;
    /// The address of the type's structure, if the magic binary at that address is a NIF resource
    /// whose type is known.
    virtual std::optional<std::uint64_t> resource_type(std::uint64_t /*address*/) { return {}; }
    /// Copies a binary's content from byte `from` on; returns how many bytes were captured there.
    virtual Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                             std::span<std::byte> into) = 0;

    /// Notified of an address that a term refers to and that has no word, to count damage.
    virtual void missed(std::uint64_t /*address*/) {}

    /// One word at an address.
    Result<std::uint64_t> word(std::uint64_t address) {
        std::uint64_t value = 0;
        auto got = words(address, std::span(&value, 1));
        if (!got) {
            return std::unexpected(got.error());
        }
        return value;
    }
};

}  // namespace beamdump
