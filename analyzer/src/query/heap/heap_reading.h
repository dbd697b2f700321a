#pragma once

#include "query/heap/heap.h"
#include "query/heap/heap_roots.h"
#include "query/process/opened_process.h"
#include "query/term/deferred_texts.h"

#include <libdump/base/scratch_space.h>
#include <libdump/heap/heap_census.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/term_sizes.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <cstddef>
#include <cstdint>

namespace beamdump::query {

/// The readers that all parts of a heap report share. Dump, process and options must outlive it.
class HeapReading {
  public:
    HeapReading(Dump& dump, std::shared_ptr<OpenedProcess> process, const HeapOptions& options);

    [[nodiscard]] Dump& dump() { return dump_; }
    [[nodiscard]] OpenedProcess& process() { return *process_; }
    [[nodiscard]] const OpenedProcess& process() const { return *process_; }
    [[nodiscard]] const HeapOptions& options() const { return options_; }
    [[nodiscard]] ScratchSpace& space() { return space_; }
    [[nodiscard]] WordReader& words() { return words_; }
    /// Drops the cached words of texts.
    void forget_texts() { texts_->forget(); }

    [[nodiscard]] HeapArea area_of(std::uint64_t address);
    [[nodiscard]] bool is_of_crash_dump() const { return of_crash_dump_; }
    [[nodiscard]] bool is_literal(std::uint64_t address) {
        return area_of(address) == HeapArea::kLiteral;
    }
    /// Maximum lines of a list that is limited even with --limit 0.
    [[nodiscard]] std::size_t most_lines() const;

    /// A term's text, truncated as the options say. `message`: as for DeferredTexts::word().
    TermText text(std::uint64_t word, std::optional<std::uint64_t> message = std::nullopt);
    RootLine line_of(const HeapRoot& root, const TermSizes& sizes);
    LargeTermLine line_of(const LargeTerm& term, const RootLine& root);

  private:
    HeapArea area_in_crash_dump(std::uint64_t address);

    Dump& dump_;
    std::shared_ptr<OpenedProcess> process_;
    const HeapOptions& options_;
    ScratchSpace space_;
    WordReader words_;
    std::shared_ptr<DeferredTexts> texts_;
    bool of_crash_dump_;
};

}  // namespace beamdump::query
