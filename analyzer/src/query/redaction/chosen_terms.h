#pragma once

#include "query/holders/process_sweep.h"
#include "query/redaction/term_lists.h"

#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
#include <libdump/redact/kept_terms.h>

#include <cstdint>
#include <functional>
#include <span>

namespace beamdump::query {

/// Notes what the lists of a policy keep of the terms that it is shown. All terms that may share
/// objects are to be shown twice: first for what is hidden, then for what is kept.
class ChosenTerms final : public SweepVisitor {
  public:
    enum class Stage : std::uint8_t { kHiding, kKeeping };
    /// Non-owning. `is_literal`: whether an address is among the literals.
    ChosenTerms(TermLists& lists, std::function<bool(std::uint64_t)> is_literal,
                redact::KeptTerms& kept, ScratchSpace& space)
        : lists_(lists),
          is_literal_(std::move(is_literal)),
          kept_(kept),
          space_(space),
          hidden_(&space),
          hidden_literals_(&space),
          literal_keys_(&space),
          kept_marks_(&space) {}

    /// Other terms come: of one process, or all rows; or all literals and persistent terms, after
    /// all others.
    void begin(bool literals) {
        literals_ = literals;
        hidden_.clear();
        kept_marks_.clear();
        walked_.clear();
    }
    /// The terms come that were told by begin(); `all`: what is done with each of them, whatever
    /// it is.
    void begin_stage(Stage stage, Choice all) {
        stage_ = stage;
        all_ = all;
    }

    Result<void> met(const HeapObject& object, std::span<const WalkLevel> path) override;
    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override;

  private:
    class Named;
    class Hide;
    class Keep;
    Result<void> hide(std::uint64_t word);
    Result<void> keep(std::uint64_t word);
    Result<void> mark_hidden(std::uint64_t address);
    [[nodiscard]] bool is_hidden(std::uint64_t address) const {
        return hidden_.has(address) || hidden_literals_.has(address);
    }
    void keep_object(const HeapObject& object);
    void keep_atoms(const HeapObject& keys);
    void keep_immediate(std::uint64_t slot, std::uint64_t word);

    TermLists& lists_;
    std::function<bool(std::uint64_t)> is_literal_;
    redact::KeptTerms& kept_;
    ScratchSpace& space_;
    AddressMarks hidden_;           ///< objects, and slots of immediates
    AddressMarks hidden_literals_;  ///< the same, from wherever they are hidden
    AddressMarks literal_keys_;     ///< tuples of keys of the maps that were met
    AddressMarks kept_marks_;
    AddressMarks walked_;  ///< by hide()
    bool literals_ = false;
    Stage stage_ = Stage::kHiding;
    Choice all_ = Choice::kNone;
};

}  // namespace beamdump::query
