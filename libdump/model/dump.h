#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/atom_table.h>
#include <libdump/model/binary_index.h>
#include <libdump/model/code_index.h>
#include <libdump/model/faults.h>
#include <libdump/model/node_tables.h>
#include <libdump/model/process_index.h>
#include <libdump/model/process_run.h>
#include <libdump/model/region_map.h>
#include <libdump/model/text_damage.h>
#include <libdump/read/dump_reader.h>
#include <libdump/term/term_style.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump {

class ProcessContext;

/// An open dump. Opening reads the index and the facts of capture and node; everything else is read
/// lazily through bounded caches. Not thread-safe.
class Dump {
  public:
    static Result<std::unique_ptr<Dump>> open(const std::filesystem::path& path,
                                              const DumpReaderOptions& options = {});
    /// Of an open file, with a name for errors.
    static Result<std::unique_ptr<Dump>> open(Descriptor file, std::string name,
                                              const DumpReaderOptions& options = {});
    Dump(const Dump&) = delete;
    Dump& operator=(const Dump&) = delete;
    ~Dump() = default;

    [[nodiscard]] DumpReader& reader() { return reader_; }
    [[nodiscard]] const records::Trailer& trailer() const { return reader_.trailer(); }
    [[nodiscard]] const records::Capture& capture() const { return capture_; }
    [[nodiscard]] const records::Node& node() const { return node_; }

    [[nodiscard]] AtomTable& atoms() { return atoms_; }
    [[nodiscard]] NodeTables& tables() { return tables_; }
    [[nodiscard]] BinaryIndex& binaries() { return binaries_; }
    [[nodiscard]] ProcessIndex& processes() { return processes_; }
    /// The literals, loaded (their directory, not their words) at the first call.
    [[nodiscard]] RegionMap& literals();
    [[nodiscard]] CodeIndex& code();
    /// What the regions of this dump lack.
    [[nodiscard]] RegionMap::Gaps gaps() const;
    /// The function or shared code point of a code address.
    std::optional<CodeLocation> code_at(std::uint64_t address);

    /// How the terms of this dump are printed, where an answer says so; node_scheme() has it.
    void set_term_style(const TermStyle& style) { term_style_ = style; }
    void clear_term_style() { term_style_.reset(); }
    [[nodiscard]] const std::optional<TermStyle>& term_style() const { return term_style_; }

    /// Makes the context through which a process's terms are read. The dump and the run must
    /// outlive it.
    using MakeContext =
        std::function<std::unique_ptr<ProcessContext>(Dump& dump, const ProcessRun& run)>;
    [[nodiscard]] std::unique_ptr<ProcessContext> context_of(const ProcessRun& run);
    /// Replaces the contexts of processes, if terms are also read from elsewhere than the dump.
    void supply_contexts(MakeContext make) { make_context_ = std::move(make); }

    /// Read errors that lookups could not return themselves.
    [[nodiscard]] Faults& faults() { return faults_; }
    /// For crash dumps: unusable parts of the text that answers lack.
    [[nodiscard]] TextDamage& text_damage() { return text_damage_; }

    /// The row of a process by its pid or registered name in any notation (parse_process_name()).
    /// If there is none: kNotFound, with a sentence that gives what was searched for and the
    /// nearest name.
    Result<records::ProcessRow> find_process(std::string_view name);

  private:
    static Result<std::unique_ptr<Dump>> read_facts(DumpReader reader);
    Dump(DumpReader reader, records::Capture capture, records::Node node);
    Result<std::optional<std::uint64_t>> registered_row(std::string_view name);
    Result<std::string> nearest_registered(std::string_view name);
    Result<std::uint64_t> row_of_pid(std::uint64_t owner_id);
    Result<std::uint64_t> row_of_name(const ProcessName& name);

    DumpReader reader_;
    records::Capture capture_;
    records::Node node_;
    Faults faults_;
    TextDamage text_damage_;
    AtomTable atoms_;
    NodeTables tables_;
    BinaryIndex binaries_;
    ProcessIndex processes_;
    std::optional<RegionMap> literals_;
    std::optional<CodeIndex> code_;
    std::optional<TermStyle> term_style_;
    MakeContext make_context_;  // null: ProcessContext itself
};

}  // namespace beamdump
