#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::crash {

/// A line of a section, `Name: value` or other text.
struct SectionLine {
    std::string_view text;
    std::optional<std::string_view> name;
    std::string_view value;  ///< the whole line if it has no name
};

/// Splits a section's text, given in pieces, into lines; a long line continues in the next piece.
/// Empty lines are left out. Memory: a line; one of over 4 MiB is split. Non-owning: `visit`.
class SectionLines {
  public:
    explicit SectionLines(const std::function<void(const SectionLine&)>& visit) : visit_(visit) {}

    void add(std::string_view piece);
    /// The section ends.
    void finish();

  private:
    const std::function<void(const SectionLine&)>& visit_;
    std::string line_;
};

}  // namespace beamdump::crash
