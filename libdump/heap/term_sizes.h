#pragma once

#include <libdump/base/error.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/term_walk.h>

#include <cstdint>
#include <limits>
#include <unordered_map>

namespace beamdump {

/// A size too large for a counter: flat sizes of shared structure double with each level.
inline constexpr std::uint64_t kSaturatedSize = std::numeric_limits<std::uint64_t>::max();

/// Words of a term.
struct TermSizes {
    std::uint64_t flat = 0;        ///< as erts_debug:flat_size/1; saturates at kSaturatedSize
    std::uint64_t shared = 0;      ///< as erts_debug:size/1: each object once
    std::uint64_t unreadable = 0;  ///< places whose words are not here or are not a valid term
};

/// Sizes of terms, each by itself. A term is walked once, what several of its objects refer to
/// twice.
/// Memory: 2 bits for each word of the pages that the term lies in, 48 bytes a level of nesting,
/// and about 56 bytes for each object that several others of the term refer to.
///
/// A fun's creator counts if it is a remote pid; erts_debug:size/1 does not count it.
class TermSizer {
  public:
    /// All must outlive the sizer; a null space keeps the marks in memory.
    TermSizer(const TagScheme& scheme, WordReader& reader, ScratchSpace* space = nullptr)
        : scheme_(scheme),
          reader_(reader),
          seen_(space),
          again_(space),
          walk_(scheme, reader, seen_, TermWalk::Measure::kCopy, space) {
        walk_.count_met_again(times_);
    }
    TermSizer(const TermSizer&) = delete;
    TermSizer& operator=(const TermSizer&) = delete;

    /// `observer` may be null. Fails if the observer or the scratch space does.
    [[nodiscard]] Result<TermSizes> sizes(std::uint64_t word, WalkObserver* observer = nullptr);

  private:
    std::uint64_t flat_words(const TermWalk::Outcome& outcome);

    const TagScheme& scheme_;
    WordReader& reader_;
    AddressMarks seen_;
    AddressMarks again_;
    TermWalk walk_;
    TermWalk::TimesMetAgain times_;
    std::unordered_map<std::uint64_t, std::uint64_t> flat_of_;
};

}  // namespace beamdump
