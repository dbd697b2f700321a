#pragma once

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

/// A dump opened for questions. Opening reads the index, how it was captured and what the node
/// was; everything else is read when asked for, through bounded caches. Not thread-safe.
class Dump {
  public:
    static Result<std::unique_ptr<Dump>> open(const std::filesystem::path& path,
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
    /// Of the regions in this dump.
    [[nodiscard]] RegionMap::Gaps gaps() const;
    /// What a code address belongs to; shared code addresses included.
    std::optional<CodeLocation> code_at(std::uint64_t address);

    /// What a process's terms are read through. The dump and the run must outlive it.
    using MakeContext =
        std::function<std::unique_ptr<ProcessContext>(Dump& dump, const ProcessRun& run)>;
    [[nodiscard]] std::unique_ptr<ProcessContext> context_of(const ProcessRun& run);
    /// Whoever opened the dump says what that is, where it is more than what the dump holds.
    void supply_contexts(MakeContext make) { make_context_ = std::move(make); }

    /// Failures to read that a lookup could not report itself.
    [[nodiscard]] Faults& faults() { return faults_; }
    /// Of a crash dump: what could not be used of its text, and the answer lacks.
    [[nodiscard]] TextDamage& text_damage() { return text_damage_; }

    /// The row of the process that a pid or a registered name means, however it is written
    /// (parse_process_name()). kNotFound, with a sentence that says what was searched for and which
    /// name is nearest, if there is none.
    Result<records::ProcessRow> find_process(std::string_view name);

  private:
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
    MakeContext make_context_;  // null: ProcessContext itself
};

}  // namespace beamdump
