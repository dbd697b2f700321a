#pragma once

#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/term_walk.h>
#include <libdump/model/dump.h>

#include <cstdint>

namespace beamdump::crash {

/// Collects the literals that the processes' terms refer to, and writes them. Memory: a bit for
/// each word of the literals' pages with such a literal.
class Literals {
  public:
    /// All must outlive it. `terms` must be able to read literals at every call; a null space keeps
    /// the marks in memory.
    Literals(Dump& dump, TermExport& terms, ScratchSpace* space)
        : dump_(dump),
          terms_(terms),
          marks_(space),
          walk_(terms.scheme(), terms.words(), marks_, TermWalk::Measure::kHeap, space) {}

    [[nodiscard]] bool hold(std::uint64_t address) { return dump_.literals().covers(address); }

    /// Marks a literal and all that it refers to. Fails if the scratch space does.
    [[nodiscard]] Result<void> use(std::uint64_t word);

    /// Writes the =literals section. Returns how many objects could not be written.
    Result<std::uint64_t> write();

  private:
    Result<void> write_atom_objects();
    void write_region(const Region& region);

    Dump& dump_;
    TermExport& terms_;
    AddressMarks marks_;
    TermWalk walk_;
    std::uint64_t unwritten_ = 0;
};

}  // namespace beamdump::crash
