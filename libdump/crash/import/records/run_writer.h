#pragma once

#include <libdump/crash/import/heap/lazy_heap.h>
#include <libdump/crash/import/records/binary_writer.h>
#include <libdump/crash/import/records/process_parser.h>
#include <libdump/crash/import/words/word_regions.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/write/dump_writer.h>
#include <libdump/write/run_record_writer.h>

namespace beamdump::crash {

/// Writes runs of processes from their sections. Memory: one process's words.
class RunWriter {
  public:
    /// The parts of a process to write.
    enum class Extent : std::uint8_t {
        kFacts,
        kRoots,  ///< with stack, dictionary and messages; its heap is to be read lazily
        kWhole,
    };

    /// Non-owning.
    RunWriter(const CrashDump& dump, NodeTerms& node, DumpWriter& writer, BinaryWriter& binaries)
        : dump_(dump),
          node_(node),
          format_(node.format),
          names_(node.names),
          writer_(writer),
          binaries_(binaries),
          heap_(&dump.budget()),
          stack_(&dump.budget()),
          dictionary_(&dump.budget()),
          records_(writer) {}

    /// Writes a run; returns the process's row.
    Result<records::ProcessRow> write(const ProcessSections& sections, ParsedProcess facts,
                                      Extent extent);
    /// The heap of the process last written with kRoots; null if it has none.
    std::unique_ptr<LazyHeap> take_lazy_heap() { return std::move(lazy_heap_); }

    /// Called with the place in the text that was reached, within a large heap too.
    void on_reached(HeapParser::Reached reached) { reached_ = std::move(reached); }

    [[nodiscard]] const TextCounts& counts() const { return counts_; }
    [[nodiscard]] std::uint64_t words() const { return words_; }

  private:
    Result<void> read_heap(const ProcessSections& sections);
    Result<void> open_heap(const ProcessSections& sections);
    Result<void> read_stack(const ProcessSections& sections, records::Process& process);
    Result<void> read_dictionary(const ProcessSections& sections);
    Result<void> write_regions(const ParsedProcess& facts);
    Result<void> write_region(format::RegionKind kind, std::uint64_t address, WordImage& image,
                              std::uint64_t from, std::uint64_t words);
    Result<void> write_messages(const ProcessSections& sections);
    Result<bool> take_message(TextCursor& text, records::Message& message);
    Result<bool> take_external(TextCursor& text, records::External& into);
    void note_counts(records::ProcessEnd& end);
    Result<void> read_terms(const ProcessSections& sections, records::Process& process);
    [[nodiscard]] Objects objects() {
        return {lazy_heap_ ? lazy_heap_->image() : heap_, node_.literals, names_};
    }

    const CrashDump& dump_;
    NodeTerms& node_;
    const TextFormat& format_;
    Names& names_;
    DumpWriter& writer_;
    BinaryWriter& binaries_;
    HeapParser::Reached reached_;

    WordImage heap_;
    std::unique_ptr<LazyHeap> lazy_heap_;  // in place of heap_
    WordImage stack_;                      // by place, from 0 on
    WordImage dictionary_;                 // likewise
    std::uint64_t owner_ = 0;
    std::uint64_t stack_words_ = 0;
    std::uint64_t dictionary_words_ = 0;
    RunRecordWriter records_;  // of the run that is being written
    std::uint64_t run_words_ = 0;
    std::uint64_t words_ = 0;
    TextCounts root_counts_;  // of the current process
    HeapCounts heap_counts_;  // likewise
    TextCounts counts_;
};

}  // namespace beamdump::crash
