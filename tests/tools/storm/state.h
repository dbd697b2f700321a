#pragma once

#include "query/heap/heap_roots.h"
#include "storm/items.h"

#include <libdump/heap/address_marks.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace beamdump::storm {

/// What can be reached from one process's roots: its items, and what contradicts itself.
class State {
  public:
    static constexpr std::size_t kFaultsTold = 10;

    /// Non-owning. `tag`: the word of the atom `storm`.
    State(const TagScheme& scheme, ProcessContext& context, std::uint64_t tag);

    /// Walks all that a root leads to and that was not met before. Nothing recurses.
    Result<void> add(const query::HeapRoot& root);

    /// Indexes from 1 to `items` that were not met; the first of them.
    [[nodiscard]] std::vector<std::uint64_t> missing(std::uint64_t items) const;

    std::uint64_t items = 0;  ///< met, cells among them
    std::uint64_t distinct = 0;
    std::uint64_t highest = 0;
    std::uint64_t lowest_version = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t highest_version = 0;
    std::uint64_t appended = 0;     ///< numbers in appended binaries
    std::uint64_t fault_count = 0;  ///< items that contradict themselves
    /// Words that lead to nothing here, or are no terms.
    std::uint64_t unreadable = 0;
    std::vector<std::string> faults;                          ///< the first of both
    std::map<std::string, std::uint64_t, std::less<>> roots;  ///< by kind
    [[nodiscard]] std::uint64_t words() const { return words_ + reader_of_items_.words(); }
    [[nodiscard]] std::uint64_t without_bytes() const { return reader_of_items_.without_bytes(); }

  private:
    struct Range {
        std::uint64_t slot = 0;
        std::uint64_t left = 0;
    };
    Result<void> visit(std::uint64_t word, std::uint64_t slot);
    void met(std::uint64_t index);
    void check_bytes(const HeapObject& object);
    void note(std::uint64_t slot, std::uint64_t word, std::string_view what);

    const TagScheme& scheme_;
    WordReader reader_;
    ItemReader reader_of_items_;
    AddressMarks marks_;
    std::vector<Range> ranges_;
    std::vector<bool> indexes_;
    std::string place_;  ///< the root
    std::uint64_t words_ = 0;
};

}  // namespace beamdump::storm
