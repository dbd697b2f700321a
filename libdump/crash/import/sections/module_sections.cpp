#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/sections/module_sections.h>
#include <libdump/write/record_pages.h>

#include <array>
#include <string>

namespace beamdump::crash {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kHexDigits = "0123456789ABCDEF";
/// A module's attributes may be long.
constexpr std::size_t kModulesOfASmallPage = 256;

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

class ModuleSections final : public SectionReader {
  public:
    ModuleSections(Names& names, DumpWriter& writer, records::Trailer& trailer,
                   std::uint64_t& old_modules)
        : names_(names),
          old_modules_(old_modules),
          pages_(writer, format::RecordKind::kLoadedModules,
                 *trailer.mutable_loaded_modules_offset(), kModulesOfASmallPage) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 1> kTags = {"mod"};
        return kTags;
    }

    void begin(std::string_view /*tag*/, std::string_view argument) override {
        current_.Clear();
        old_.Clear();
        has_old_ = false;
        current_.set_instance(records::MODULE_INSTANCE_CURRENT);
        old_.set_instance(records::MODULE_INSTANCE_OLD);
        if (const auto name = whole_atom(argument, names_)) {
            current_.set_name_atom(*name);
            old_.set_name_atom(*name);
        }
    }

    void line(const SectionLine& line) override {
        const auto name = line.name.value_or("");
        if (name == "Current size" || name == "Old size") {
            has_old_ = has_old_ || name == "Old size";
            if (const auto bytes = decimal_number(line.value)) {
                instance_of(name).set_code_bytes(*bytes);
            }
        } else if (name == "Current attributes" || name == "Old attributes") {
            instance_of(name).set_attributes(external_term(line.value));
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        RETURN_IF_ERROR(
            pages_.add([this](records::LoadedModules& page) { *page.add_module() = current_; }));
        if (!has_old_) {
            return {};
        }
        ++old_modules_;
        return pages_.add([this](records::LoadedModules& page) { *page.add_module() = old_; });
    }
    Result<void> finish(bool /*also_none*/) override { return pages_.finish(false); }

  private:
    records::Module& instance_of(std::string_view line_name) {
        return line_name.starts_with('C') ? current_ : old_;
    }

    Names& names_;
    std::uint64_t& old_modules_;
    RecordPages<records::LoadedModules> pages_;
    records::Module current_;
    records::Module old_;
    bool has_old_ = false;
};

}  // namespace

std::unique_ptr<SectionReader> module_sections(Names& names, DumpWriter& writer,
                                               records::Trailer& trailer,
                                               std::uint64_t& old_modules) {
    return std::make_unique<ModuleSections>(names, writer, trailer, old_modules);
}

}  // namespace beamdump::crash
