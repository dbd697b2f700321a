#pragma once

#include <libdump/crash/cache/open_text.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::input {

/// How a dump is opened.
struct OpenOptions {
    InputLimits limits = {};
    crash::CacheChoice cache = {};  ///< of facts of crash dumps
    unsigned threads = 1;           ///< DumpReaderOptions::threads
    std::string key;                ///< file with the private key of an encrypted crash dump
};

/// An open dump, from any kind of file.
class OpenedDump {
  public:
    /// As given on the command line.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// For a crash dump or its conversion: one sentence for each unreadable part of the text that
    /// the answer lacks, besides the dump's own damage.
    [[nodiscard]] std::vector<std::string> missing() const;
    /// Whether what was read so far could not be read whole: missing(), and the damage that the
    /// dump's lookups and its reader met.
    [[nodiscard]] bool has_met_damage() const;
    [[nodiscard]] Dump& dump() const { return *dump_; }
    /// Whether the terms of all processes can be read: not of a crash dump of which less was asked
    /// for.
    [[nodiscard]] bool has_terms() const { return !text_.text || text_.whole; }
    /// For a crash dump: bytes of its text read so far, and in all.
    struct TextStats {
        std::uint64_t bytes_read = 0;
        std::uint64_t bytes = 0;
        std::string kept;  ///< what the cache did: OpenedText::kept
    };
    [[nodiscard]] std::optional<TextStats> text_stats() const;

  private:
    friend Result<OpenedDump> open_dump(const std::string& path, const crash::ConvertChoice& choice,
                                        const crash::CrashDump::Progress& progress,
                                        const crash::CrashDump::HeaderSeen& header_seen,
                                        const OpenOptions& options);
    crash::OpenedText text_;  // empty for other dumps
    std::string path_;
    std::unique_ptr<Dump> dump_;
};

/// Whether the file is a crash dump's text, plain or compressed (by its first bytes), or a pipe,
/// which only crash dumps may be. `-` is standard input.
bool is_crash_dump(const std::string& path);

/// Opens a dump. A crash dump is converted, as `choice` says, to a temporary file without a name;
/// `path` is not needed any more then.
Result<OpenedDump> open_dump(const std::string& path, const crash::ConvertChoice& choice,
                             const crash::CrashDump::Progress& progress,
                             const crash::CrashDump::HeaderSeen& header_seen,
                             const OpenOptions& options);

}  // namespace beamdump::input
