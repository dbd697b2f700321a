#pragma once

#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/dominators.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/term_walk.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace beamdump {

/// Retained sizes: the words that would be freed if a term were removed, i.e. of all objects that
/// are reachable from the process's roots only through it. Literals belong to the node and do not
/// count; a sub binary counts the heap words of what it keeps, not the off-heap bytes.
///
/// Three walks over all roots: find shared objects; number the objects that are shared or lead to
/// shared ones (only they need the dominator tree); report. Scratch space: 2 bits for each word of
/// the pages reached, 33 bytes for each numbered object, 4 for each shared one, 8 for each further
/// reference to it.
class RetainedSizes {
  public:
    using VisitRoot = std::function<Result<void>(std::uint64_t number, std::uint64_t word)>;
    /// Walks all roots, in the same order each time: calls the function given with the root's
    /// number and word while its words can be read, and ends with its first error.
    using Roots = std::function<Result<void>(const VisitRoot&)>;
    /// Called with a large term while its root's words can be read.
    using Visit = std::function<void(const LargeTerm&)>;

    struct Options {
        std::size_t largest = 20;
    };
    /// Scheme, reader and space must outlive the object.
    RetainedSizes(const TagScheme& scheme, WordReader& reader, ScratchSpace& space,
                  std::function<bool(std::uint64_t)> is_literal, const Options& options);

    /// Calls `visit` with each term that is among the largest so far; the final ones are largest().
    /// Fails if the scratch space does.
    Result<void> run(const Roots& roots, const Visit& visit);

    /// Largest first, by retained words (`words`). A term of which one part retains 90% or more is
    /// replaced by that part.
    [[nodiscard]] std::vector<LargeTerm> largest() const;

  private:
    Result<void> find_shared(const Roots& roots);
    Result<void> number(const Roots& roots);
    Result<void> report(const Roots& roots, const Visit& visit);

    const TagScheme& scheme_;
    WordReader& reader_;
    ScratchSpace& space_;
    std::function<bool(std::uint64_t)> is_literal_;
    AddressMarks seen_;
    AddressMarks shared_;
    DominatorTree tree_;
    ScratchArray<DominatorTree::Node> node_of_;  // of shared objects, by their numbers; 0: none
    LargestTerms largest_;
};

}  // namespace beamdump
