#pragma once

#include <libdump/base/error.h>
#include <libdump/crash/export/sections/literals.h>
#include <libdump/crash/export/terms/term_export.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/term_walk.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_context.h>

#include <cstdint>
#include <span>

namespace beamdump::crash {

/// Writes the sections of a process's terms: =proc_messages, =proc_dictionary, =proc_stack and
/// =proc_heap (erl_process_dump.c, dump_process_info(), OTP 27.3.4). Each object reachable from
/// stack, messages or dictionary is written once in the heap; literals are in their own section.
/// Memory: one bit for each word of the heap's pages, 64 bytes a level of nesting.
class ProcessTerms final : private WalkObserver {
  public:
    /// All must outlive it; a null space keeps the marks in memory.
    ProcessTerms(Dump& dump, TermExport& terms, Literals& literals, ScratchSpace* space);

    /// Writes all sections of one process. `context` is its own, and what `terms` reads.
    Result<void> write(const ProcessRun& run, ProcessContext& context);

    /// Count for all processes so far: objects that could not be written, words without an object,
    /// stack words and messages that are not in the dump.
    [[nodiscard]] std::uint64_t unwritten() const { return unwritten_; }

  private:
    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) override;
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }

    void title(std::string_view section);
    Result<void> messages();
    Result<void> message(const records::Message& entry);
    Result<void> undecoded(const records::External& external);
    Result<void> dictionary();
    void stack();
    Result<void> heap();
    [[nodiscard]] Result<void> root(std::uint64_t word);
    [[nodiscard]] Result<void> part_of(std::uint64_t original);
    [[nodiscard]] bool is_literal(std::uint64_t address);

    Dump& dump_;
    TermExport& terms_;
    TextOutput& out_;
    Literals& literals_;
    AddressMarks marks_;
    TermWalk walk_;
    const ProcessRun* run_ = nullptr;    ///< of the current process
    ProcessContext* context_ = nullptr;  ///< of the process at hand
    std::uint64_t unwritten_ = 0;
};

}  // namespace beamdump::crash
