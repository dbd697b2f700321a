#pragma once

#include "binary_writer.h"
#include "heap_text.h"
#include "process_text.h"
#include "word_regions.h"

#include <libdump/crash/crash_dump.h>
#include <libdump/write/dump_writer.h>

namespace beamdump::crash {

/// Writes runs of processes: what their sections say. Holds one process's words at a time.
class RunText {
  public:
    /// Non-owning. `literals`: those of the node, for what leads into them.
    RunText(const CrashDump& dump, const TextFormat& format, Names& names, DumpWriter& writer,
            BinaryWriter& binaries, const WordImage& literals)
        : dump_(dump),
          format_(format),
          names_(names),
          writer_(writer),
          binaries_(binaries),
          literals_(literals) {}

    /// Writes a run; gives the process's row. `whole`: with its heap, stack and messages.
    Result<records::ProcessRow> write(const ProcessSections& sections, ProcessText facts,
                                      bool whole);

    [[nodiscard]] const TextCounts& counts() const { return counts_; }
    [[nodiscard]] std::uint64_t words() const { return words_; }

  private:
    Result<void> read_heap(const ProcessSections& sections);
    Result<void> read_stack(const ProcessSections& sections, records::Process& process);
    Result<void> read_dictionary(const ProcessSections& sections);
    Result<void> write_regions(const ProcessText& facts);
    Result<void> write_region(format::RegionKind kind, std::uint64_t address, WordImage& image,
                              std::uint64_t from, std::uint64_t words);
    Result<void> write_messages(const ProcessSections& sections);
    Result<bool> take_message(TextCursor& text, records::Message& message);
    Result<bool> take_external(TextCursor& text, records::External& into);
    Result<void> flush_messages();
    Result<void> write_relations(const ProcessText& facts);
    Result<void> referenced();
    void malformed(std::uint64_t offset);

    const CrashDump& dump_;
    const TextFormat& format_;
    Names& names_;
    DumpWriter& writer_;
    BinaryWriter& binaries_;
    const WordImage& literals_;

    WordImage heap_;
    WordImage stack_;       // by place, from 0 on
    WordImage dictionary_;  // likewise
    std::uint64_t owner_ = 0;
    std::uint64_t stack_words_ = 0;
    std::uint64_t dictionary_words_ = 0;
    records::RunDirectory directory_;
    std::size_t references_ = 0;
    records::Messages messages_;
    std::size_t messages_bytes_ = 0;
    std::uint64_t entries_ = 0;
    std::uint64_t run_words_ = 0;
    std::uint64_t words_ = 0;
    TextCounts counts_;
};

}  // namespace beamdump::crash
