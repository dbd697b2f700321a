#pragma once

#include "query/process/messages.h"
#include "query/process/opened_process.h"
#include "query/process/process_details.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace beamdump::query {

struct DictionaryOptions {
    std::uint64_t from = 0;        ///< entries before it are skipped
    std::uint64_t limit = 20;      ///< entries; 0: all
    std::size_t term_bytes = 200;  ///< of each key's and each value's text; 0: all
    bool sensitive = false;        ///< show the dictionary of a process flagged sensitive
};

/// An entry whose {Key, Value} tuple the dump lacks.
struct LostEntry {
    TermText text;  ///< the placeholder for its key and its value
    bool is_term =
        false;  ///< the word is a term, but no such tuple: the printer has not counted it
};
LostEntry lost_entry(TermPrinter& printer, std::uint64_t word);

/// One process's dictionary, a page of it or all, in the order of its hash table (which is not that
/// of process_info/2). Memory does not depend on its size.
class DictionaryListing {
  public:
    static Result<std::unique_ptr<DictionaryListing>> open(Dump& dump, const std::string& file,
                                                           std::string_view name,
                                                           const DictionaryOptions& options);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const ProcessLine& line() const { return process_->line; }
    [[nodiscard]] Withheld withheld() const { return withheld_; }
    [[nodiscard]] const DictionaryOptions& options() const { return options_; }
    /// The VM's count of all entries; nullopt if the dump lacks it.
    [[nodiscard]] std::optional<std::uint64_t> entries() const;

    /// Shows each entry of the page. Entries before it are skipped without reading their terms;
    /// entries after it are not read.
    Result<void> each(const std::function<void(std::uint64_t, const DictionaryLine&)>& show);

    [[nodiscard]] std::uint64_t placeholders() const { return placeholders_; }

  private:
    DictionaryListing(Dump& dump, const std::string& file, std::unique_ptr<OpenedProcess> process,
                      const DictionaryOptions& options);

    DumpFacts facts_;
    std::unique_ptr<OpenedProcess> process_;
    DictionaryOptions options_;
    Withheld withheld_ = Withheld::kNo;
    std::uint64_t placeholders_ = 0;
};

}  // namespace beamdump::query
