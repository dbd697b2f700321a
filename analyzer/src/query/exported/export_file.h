#pragma once

#include "query/facts/dump_facts.h"
#include "query/facts/node_run.h"
#include "query/things/thing_kinds.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace beamdump::query {

/// A line of `export ndjson`. Views are valid until the next line is read.
class ExportLine {
  public:
    /// Nothing: the line does not have the field.
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
    [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
    /// Absent: the line does not have the column.
    [[nodiscard]] Cell cell(const Column& column) const;

  private:
    friend class ExportLineReader;

    /// A number that is negative or no integer, a list or an object: of no field that is known.
    struct Other {};
    using Value = std::variant<Other, std::string_view, std::uint64_t, bool>;

    [[nodiscard]] const Value* find(std::string_view name) const;

    std::vector<std::pair<std::string_view, Value>> fields_;
};

/// A file that `export ndjson` wrote of one dump (schemas/json/export-line.schema.json). Memory:
/// one line, of 1 MiB at most; the things are read anew each time that they are asked for.
class ExportFile {
  public:
    /// Reads the file once, whole: each line is a JSON object, the fields of kinds that are known
    /// have their types, there are one line of kind `dump`, the first, and one of kind `end`, the
    /// last. kNotADump: it is something else; kNewerVersion; kTruncated: it has no `end`; kCorrupt:
    /// a line is invalid. All with the number of the line.
    static Result<ExportFile> open(const std::string& path);

    [[nodiscard]] const DumpFacts& facts() const { return facts_; }
    [[nodiscard]] const NodeRun& run() const { return run_; }
    [[nodiscard]] bool of_crash_dump() const { return of_crash_dump_; }
    /// Whether the export is of a whole dump, and of all its things: neither truncated nor limited
    /// (--limit).
    [[nodiscard]] bool whole() const { return whole_; }
    /// Number of lines of the kind.
    [[nodiscard]] std::uint64_t count(const ThingKind& kind) const;
    /// A number in the line of kind `dump`.
    [[nodiscard]] std::optional<std::uint64_t> fact(std::string_view name) const;
    /// Whether it has all processes of the node (--detail processes or stacks).
    [[nodiscard]] bool has_processes() const { return has_processes_; }

    /// All lines of the kind, in the file's order.
    Result<void> visit(const ThingKind& kind,
                       const std::function<void(const ExportLine&)>& visit) const;

  private:
    /// Where the lines of a kind are: between them may be lines of others.
    struct Span {
        std::uint64_t offset = 0;  ///< of the first one
        std::uint64_t number = 0;  ///< its line's
        std::uint64_t end = 0;     ///< after the last one
        std::uint64_t count = 0;
    };

    Result<void> read_all();
    Result<void> take_dump(const ExportLine& line);
    void take_end(const ExportLine& line);

    std::string path_;
    DumpFacts facts_;
    NodeRun run_;
    bool of_crash_dump_ = false;
    bool whole_ = false;
    bool has_processes_ = false;
    std::map<std::string_view, Span> spans_;
    std::map<std::string_view, std::uint64_t> numbers_;  ///< of the line of kind `dump`
};

/// Whether a regular file starts as JSON does, which no dump does.
bool is_export(const std::string& path);

}  // namespace beamdump::query
