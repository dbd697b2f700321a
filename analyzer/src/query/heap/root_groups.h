#pragma once

#include "query/heap/heap.h"

#include <cstdint>
#include <map>
#include <vector>

namespace beamdump::query {

/// Collects the roots of a process by kind: the sums over all, and lines of the largest.
class RootGroups {
  public:
    /// 0: lines of all roots.
    explicit RootGroups(std::uint64_t limit);

    /// Counts a root; true if add() would keep its line.
    bool count(RootKind kind, std::uint64_t shared_words);
    void add(RootLine line);

    /// Largest first if there is a limit, else in the order of roots.
    std::vector<RootGroup> take();

  private:
    RootGroup& group(RootKind kind);
    void keep_largest(RootGroup& group) const;

    std::uint64_t limit_;
    std::vector<RootGroup> groups_;
    /// A root with more shared words than this enters a full group.
    std::map<RootKind, std::uint64_t> least_;
};

}  // namespace beamdump::query
