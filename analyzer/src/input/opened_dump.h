#pragma once

#include <libdump/crash/import/convert.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::input {

/// A dump to ask, whatever kind of file it came from.
class OpenedDump {
  public:
    /// As it was asked for.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Of a crash dump, or its conversion: what of the text the answer lacks because it could not
    /// be read, a sentence each; besides the dump's own damage.
    [[nodiscard]] std::vector<std::string> missing() const;
    [[nodiscard]] Dump& dump() const { return *dump_; }
    /// Of a crash dump: bytes of its text that were read until now, and that it has.
    struct TextStats {
        std::uint64_t bytes_read = 0;
        std::uint64_t bytes = 0;
    };
    [[nodiscard]] std::optional<TextStats> text_stats() const;

  private:
    friend Result<OpenedDump> open_dump(const std::string& path, const crash::ConvertChoice& choice,
                                        const crash::CrashDump::Progress& progress,
                                        const crash::CrashDump::HeaderSeen& header_seen,
                                        const InputLimits& limits);
    std::unique_ptr<crash::CrashDump> text_;
    std::string path_;
    std::unique_ptr<crash::LazyTerms> lazy_terms_;
    std::unique_ptr<Dump> dump_;
};

/// Whether the file is the text of a crash dump, plain or packed, or comes through a pipe, which
/// nothing else may; told by its first bytes. `-` is standard input.
bool is_crash_dump(const std::string& path);

/// Opens a dump. Of a crash dump, a dump of what `choice` names is made in a temporary file without
/// a name; the name of `path` is needed no more then.
Result<OpenedDump> open_dump(const std::string& path, const crash::ConvertChoice& choice,
                             const crash::CrashDump::Progress& progress,
                             const crash::CrashDump::HeaderSeen& header_seen,
                             const InputLimits& limits);

}  // namespace beamdump::input
