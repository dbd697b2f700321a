#pragma once

#include "query/rows/row_list.h"
#include "query/term/term_text.h"

#include <libdump/model/dump.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// The columns of list_persistent_terms(): key, words, memory (bytes, as persistent_term:info/0
/// counts), value, left_out.
std::span<const Column> persistent_term_columns();
inline constexpr std::string_view kPersistentTermSort = "memory";

/// What the dump says of the persistent terms as a whole.
struct PersistentTermCounts {
    std::uint64_t captured = 0;
    std::optional<std::uint64_t> count;   ///< as persistent_term:info/0 says
    std::optional<std::uint64_t> memory;  ///< in bytes, likewise
    std::uint64_t left_out = 0;           ///< larger than is captured: their values are not whole
    std::uint64_t changed = 0;            ///< missing, by reason
    std::uint64_t unreadable = 0;
    bool replaced = false;
    bool cut_off = false;

    [[nodiscard]] bool is_whole() const {
        return changed + unreadable == 0 && !replaced && !cut_off;
    }
};

struct PersistentTermsAnswer {
    RowList list;
    PersistentTermCounts counts;
    std::uint64_t placeholders = 0;  ///< in the texts of all terms
};

/// The node's persistent terms; keys and values are cut after `term_bytes` bytes (0: never).
/// kNotFound where the dump has none of it: it was captured by an older version, or they could not
/// be found.
Result<PersistentTermsAnswer> list_persistent_terms(Dump& dump, const RowQuery& query,
                                                    std::size_t term_bytes);

/// One persistent term. Its text is valid while it is shown.
struct PersistentTermLine {
    std::string key;
    std::optional<std::uint64_t> words;   ///< of key and value
    std::optional<std::uint64_t> memory;  ///< bytes
    bool left_out = false;
    TermText value;
};

/// Shows the terms whose key reads as `key`. Gives the number of placeholders in their texts.
/// kNotFound: there is none.
Result<std::uint64_t> show_persistent_term(
    Dump& dump, const std::string& key, std::size_t term_bytes,
    const std::function<void(const PersistentTermLine&)>& show);

/// Calls `visit` with the address of each persistent term's tuple of key and value that the dump
/// has, and what its words are read through. Not of those that are larger than is captured, and
/// not of a crash dump's. Gives what the dump says of all.
Result<PersistentTermCounts> visit_persistent_pairs(
    Dump& dump,
    const std::function<Result<void>(TermContext& context, std::uint64_t address)>& visit);

}  // namespace beamdump::query
