#pragma once

#include <libdump/crash/import/convert.h>
#include <libdump/crash/import/extend.h>
#include <libdump/crash/import/records/node_parser.h>
#include <libdump/crash/import/records/run_writer.h>
#include <libdump/format/process_name.h>

#include <memory>
#include <string>

namespace beamdump::crash {

/// One conversion: of the whole text, or of what a dump of the facts lacks. Non-owning: dump and
/// writer.
class Converter {
  public:
    /// `key`: of a dump that is to be kept, else empty.
    static Result<std::unique_ptr<Converter>> create(const CrashDump& dump, DumpWriter& writer,
                                                     std::string key);

    Result<ConvertOutcome> run(const ConvertChoice& choice, const CrashDump::Progress& on_progress);
    /// Appends to the dump of the facts.
    Result<ConvertOutcome> run_after(const FactsDump& facts, const ConvertChoice& choice,
                                     const CrashDump::Progress& on_progress);

  private:
    Converter(const CrashDump& dump, DumpWriter& writer, TextFormat format, ParsedNode node,
              std::string key)
        : dump_(dump),
          writer_(writer),
          key_(std::move(key)),
          terms_(std::make_unique<NodeTerms>(std::move(format), &dump.budget())),
          node_(std::move(node)),
          binaries_(dump, terms_->format, writer) {}

    Result<void> begin();
    Result<void> save_index();
    Result<void> literals();
    Result<void> node_terms(const ConvertChoice& choice);
    Result<void> processes(const ConvertChoice& choice, const CrashDump::Progress& on_progress);
    Result<void> chosen_process(const FactsDump::Process& process, const ConvertChoice& choice,
                                const CrashDump::Progress& on_progress);
    Result<void> replace_row(const FactsDump::Process& process, const records::ProcessRow& row);
    Result<void> extend(const FactsDump& facts, const ConvertChoice& choice,
                        const CrashDump::Progress& on_progress);
    Result<void> write_all_names();
    Result<void> finish();
    Result<ConvertOutcome> outcome(const Result<void>& done);
    /// Of the chosen process.
    [[nodiscard]] static RunWriter::Extent extent_of(const ConvertChoice& choice,
                                                     const ProcessSections& sections);
    [[nodiscard]] bool is_chosen(const ConvertChoice& choice, const ParsedProcess& process);

    const CrashDump& dump_;
    DumpWriter& writer_;
    std::string key_;
    std::unique_ptr<NodeTerms> terms_;
    ParsedNode node_;
    BinaryWriter binaries_;
    std::unique_ptr<LazyHeap> lazy_heap_;
    records::Trailer trailer_;
    TextCounts counts_;
    std::uint64_t words_ = 0;
    ProcessName wanted_;
    std::size_t names_left_ = 0;  ///< of wanted_: the first ones
};

}  // namespace beamdump::crash
