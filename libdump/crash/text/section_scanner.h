#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::crash {

/// A section of a crash dump: a line `=tag` or `=tag:argument`, and all lines up to the next one
/// (erl_process_dump.c, break.c; all versions of the text format). Offsets in bytes of the text.
struct Section {
    std::string_view tag;
    std::string_view argument;  ///< empty where there is none
    std::uint64_t begin = 0;    ///< of the `=`
    std::uint64_t body = 0;     ///< of the line after it
    std::uint64_t end = 0;      ///< of the next section, or of the text
};

/// Finds the sections of a crash dump in one pass over its text, given in pieces of any size.
/// Memory: one section's first line, truncated at kMaxHeader bytes. Not checked: whether a tag is
/// known.
class SectionScanner {
  public:
    static constexpr std::size_t kMaxHeader = 64U << 10U;
    using Visit = std::function<Result<void>(const Section&)>;

    /// `visit` is called with each section as soon as its end is known; its strings are valid
    /// during the call.
    explicit SectionScanner(Visit visit) : visit_(std::move(visit)) {}

    /// Appends the offsets at or after `from` in a piece where lines begin with `=`, ascending, and
    /// those where another dump begins behind a line that was broken off. Never 0, which depends on
    /// the piece before. Not found: such a dump whose first line is in two pieces.
    static void find_lines(std::string_view piece, std::size_t from,
                           std::vector<std::size_t>& into);

    /// The next piece of the text, and all offsets that find_lines() found in it. Errors are those
    /// of `visit`.
    Result<void> feed(std::string_view piece, std::span<const std::size_t> lines);
    Result<void> feed(std::string_view piece);
    /// End of the text: reports the last section, complete or not.
    Result<void> finish();

    /// Bytes before the first section.
    [[nodiscard]] std::uint64_t leading_bytes() const { return leading_; }
    [[nodiscard]] std::uint64_t bytes() const { return seen_; }

  private:
    Result<void> begin_section(std::string_view piece, std::size_t sign);
    Result<void> end_section(std::uint64_t offset);
    std::size_t take_header(std::string_view rest);

    Visit visit_;
    std::string header_;  // the current section's line, without `=` and line end
    bool in_header_ = false;
    bool at_line_start_ = true;  // of the next byte
    bool has_section_ = false;
    std::uint64_t seen_ = 0;
    std::uint64_t leading_ = 0;
    std::uint64_t begin_ = 0;
    std::uint64_t body_ = 0;
};

}  // namespace beamdump::crash
