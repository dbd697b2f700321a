#pragma once

#include <libdump/crash/import/sections/section_reader.h>
#include <libdump/write/dump_writer.h>

#include <functional>
#include <memory>
#include <vector>

namespace beamdump::crash {

/// Writes the records of all sections that are not those of processes: ports, timers, schedulers,
/// other nodes, ETS tables, modules, allocators. Non-owning: names, writer and trailer.
class SectionRecords {
  public:
    /// `slogan`: of the text. `word_bytes`: of the node.
    SectionRecords(Names& names, std::string_view slogan, std::uint32_t word_bytes,
                   DumpWriter& writer, records::Trailer& trailer);

    SectionRecords(const SectionRecords&) = delete;
    SectionRecords& operator=(const SectionRecords&) = delete;
    ~SectionRecords() = default;

    /// A section's lines, or the next ones of the section before.
    Result<void> add(const records::CrashSection& section);
    /// The text ends.
    Result<void> finish();

    /// Modules that have old code too.
    [[nodiscard]] std::uint64_t old_modules() const { return old_modules_; }

  private:
    Result<void> end();

    std::vector<std::unique_ptr<SectionReader>> readers_;
    SectionReader* reader_ = nullptr;  ///< of the section that is read; null: none
    std::function<void(const SectionLine&)> take_line_;
    SectionLines lines_;
    std::uint64_t old_modules_ = 0;
    bool by_vm_;  ///< the VM wrote the text, which then has sections of all things that there are
};

}  // namespace beamdump::crash
