#include "query/tables/module_sections.h"

#include "query/facts/sections.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace beamdump::query {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

/// Bytes of digits of `bits` bits each, the highest first; ends at the first other character.
std::string bytes_of(std::string_view text, std::string_view digits, unsigned bits) {
    std::string bytes;
    unsigned held = 0;
    unsigned held_bits = 0;
    for (const char character : text) {
        const auto value = digits.find(character);
        if (value == std::string_view::npos) {
            break;
        }
        held = (held << bits | static_cast<unsigned>(value)) & 0xFFFFU;
        held_bits += bits;
        if (held_bits >= 8) {
            held_bits -= 8;
            bytes.push_back(static_cast<char>(held >> held_bits & 0xFFU));
        }
    }
    return bytes;
}

/// A term in external format, whose first byte is 131: base64 from version 0.5 of the text on,
/// hexadecimal digits before.
std::string external_term(std::string_view text) {
    return text.starts_with("83") ? bytes_of(text, kHexDigits, 4)
                                  : bytes_of(text, kBase64Digits, 6);
}

/// One section; its two instances are told apart by the beginning of a line's name.
class ModuleSection {
  public:
    ModuleSection(std::string name, ModuleVersions* versions) : versions_(versions) {
        current_.name = old_.name = std::move(name);
        current_.instance = "current";
        old_.instance = "old";
    }

    void take(const SectionLine& line) {
        const auto name = line.name.value_or("");
        if (name == "Current size") {
            current_.code_bytes = decimal_number(line.value);
        } else if (name == "Old size") {
            has_old_ = true;
            old_.code_bytes = decimal_number(line.value);
        } else if (name == "Current attributes" || name == "Old attributes") {
            auto& instance = name.starts_with('C') ? current_ : old_;
            if (versions_ != nullptr) {
                instance.version = versions_->version(external_term(line.value));
            }
        }
    }

    void give(std::vector<ModuleLine>& lines) && {
        lines.push_back(std::move(current_));
        if (has_old_) {
            lines.push_back(std::move(old_));
        }
    }

  private:
    ModuleVersions* versions_;
    ModuleLine current_;
    ModuleLine old_;
    bool has_old_ = false;
};

}  // namespace

Result<std::vector<ModuleLine>> modules_of_sections(Dump& dump, const std::string& file,
                                                    ModuleVersions* versions) {
    static constexpr std::array<std::string_view, 1> kTags = {"mod"};
    ASSIGN_OR_RETURN(auto sections, SectionListing::open(dump, file, {}));
    std::vector<ModuleLine> lines;
    std::optional<ModuleSection> section;
    RETURN_IF_ERROR(sections->show_kinds(
        kTags, {[&](std::string_view, std::string_view name) {
                    section.emplace(quoted_atom(unquoted_atom(name)), versions);
                },
                [&](const SectionLine& line) { section->take(line); },
                [&] { std::move(*section).give(lines); }}));
    return lines;
}

}  // namespace beamdump::query
