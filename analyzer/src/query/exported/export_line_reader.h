#pragma once

#include "query/exported/export_file.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// Reads the lines of an export one after the other.
class ExportLineReader {
  public:
    explicit ExportLineReader(std::string path);
    ~ExportLineReader();
    ExportLineReader(const ExportLineReader&) = delete;
    ExportLineReader& operator=(const ExportLineReader&) = delete;

    /// Before the first line. `number`: of the line that starts at `offset`.
    Result<void> open(std::uint64_t offset = 0, std::uint64_t number = 1);
    /// The next line, which holds until the one after it; null at the end of the file. kCorrupt: it
    /// is no JSON object, or longer than 1 MiB; of a known kind, a field has another type than its
    /// column.
    Result<const ExportLine*> next();

    /// The number of the line that next() gave.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }
    [[nodiscard]] std::uint64_t end() const { return next_offset_; }
    /// nullptr: one that this version does not know.
    [[nodiscard]] const ThingKind* kind() const { return kind_; }
    /// An error about that line.
    [[nodiscard]] std::unexpected<Error> error(ErrorCode code, std::string_view what) const;

  private:
    struct Parser;

    enum class LineEnd : std::uint8_t { kThere, kNone };
    Result<void> parse(std::size_t size, LineEnd end);
    Result<void> check_types() const;

    std::string path_;
    std::ifstream file_;
    std::vector<char> bytes_;
    std::unique_ptr<Parser> parser_;
    ExportLine line_;
    const ThingKind* kind_ = nullptr;
    std::uint64_t number_ = 0;
    std::uint64_t next_number_ = 1;
    std::uint64_t offset_ = 0;
    std::uint64_t next_offset_ = 0;
};

}  // namespace beamdump::query
