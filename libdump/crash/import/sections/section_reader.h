#pragma once

#include <libdump/base/decimal.h>
#include <libdump/base/error.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/crash/text/section_lines.h>
#include <libdump/term/atom_text.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::crash {

/// Reads the sections of some kinds of a crash dump, and writes what they say as the records that a
/// capture has of these things. What the text does not say is absent.
class SectionReader {
  public:
    SectionReader() = default;
    SectionReader(const SectionReader&) = delete;
    SectionReader& operator=(const SectionReader&) = delete;
    virtual ~SectionReader() = default;

    /// The kinds: `port` of `=port:#Port<0.3>`.
    [[nodiscard]] virtual std::span<const std::string_view> tags() const = 0;
    /// A section begins; `argument` is the text behind the colon.
    virtual void begin(std::string_view tag, std::string_view argument) = 0;
    virtual void line(const SectionLine& line) = 0;
    /// The section ends.
    virtual Result<void> end() = 0;
    /// The text ends. `also_none`: without such a section a record says that there is none of these
    /// things, as the text would have had one.
    virtual Result<void> finish(bool also_none) = 0;
};

/// The number of the atom that all of `text` is, as the VM prints one; nothing for an empty text.
inline std::optional<std::uint32_t> whole_atom(std::string_view text, Names& names) {
    if (text.empty()) {
        return std::nullopt;
    }
    auto rest = text;
    const auto atom = parse_atom(rest);
    return names.atom(atom && rest.empty() ? *atom : unquoted_atom(text));
}

/// The number of `#Port<0.3>`.
inline std::optional<std::uint64_t> parse_port(std::string_view text) {
    constexpr std::string_view kBefore = "#Port<0.";
    if (!text.starts_with(kBefore) || !text.ends_with('>')) {
        return std::nullopt;
    }
    text.remove_prefix(kBefore.size());
    text.remove_suffix(1);
    return decimal_number(text);
}

}  // namespace beamdump::crash
