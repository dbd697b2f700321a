#include <libdump/base/return_if_error.h>
#include <libdump/format/wire.h>
#include <libdump/redact/crash_section.h>
#include <libdump/redact/record_pass.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace beamdump::redact {
namespace {

using namespace std::string_view_literals;

/// Kinds of sections in which the VM prints only numbers and its own words.
constexpr std::array kKeptKinds = {
    "allocated_areas"sv,    "allocator"sv,  "dirty_cpu_run_queue"sv, "dirty_cpu_scheduler"sv,
    "dirty_io_run_queue"sv, "hash_table"sv, "index_table"sv,         "dirty_io_scheduler"sv,
    "loaded_modules"sv,     "memory"sv,     "scheduler"sv,           "end"sv,
};
/// Kinds of sections whose lines are looked at one by one.
constexpr std::array kKinds = {"atoms"sv,
                               "ets"sv,
                               "fun"sv,
                               "hidden_node"sv,
                               "mod"sv,
                               "node"sv,
                               "not_connected"sv,
                               "port"sv,
                               "timer"sv,
                               "visible_node"sv,
                               "persistent_terms"sv};

enum class Line : std::uint8_t {
    kHidden,
    kNumbers,  ///< numbers and identities of processes, ports and references
    kWords,    ///< the VM's own words
    kAtom,
};
struct NamedLine {
    std::string_view name;
    Line rule = Line::kHidden;
};
/// erl_db.c, erl_db_hash.c, io.c, erl_bif_timer.c, erl_hl_timer.c, break.c, dist.c, erl_fun.c. A
/// line of another name is hidden.
constexpr std::array kLines = {
    NamedLine{"Address", Line::kNumbers},
    NamedLine{"Buckets", Line::kNumbers},
    NamedLine{"Chain Length Avg", Line::kNumbers},
    NamedLine{"Chain Length Expected Std Dev", Line::kNumbers},
    NamedLine{"Chain Length Max", Line::kNumbers},
    NamedLine{"Chain Length Min", Line::kNumbers},
    NamedLine{"Chain Length Std Dev", Line::kNumbers},
    NamedLine{"Compressed", Line::kWords},
    NamedLine{"Connected", Line::kNumbers},
    NamedLine{"Controller", Line::kNumbers},
    NamedLine{"Creation", Line::kNumbers},
    NamedLine{"Current size", Line::kNumbers},
    NamedLine{"Fixed", Line::kWords},
    NamedLine{"Index", Line::kNumbers},
    NamedLine{"Input", Line::kNumbers},
    NamedLine{"Links", Line::kNumbers},
    NamedLine{"Module", Line::kAtom},
    NamedLine{"Monitors", Line::kNumbers},
    NamedLine{"Name", Line::kAtom},
    NamedLine{"Objects", Line::kNumbers},
    NamedLine{"Old size", Line::kNumbers},
    NamedLine{"Output", Line::kNumbers},
    NamedLine{"Port controls linked-in driver", Line::kWords},
    NamedLine{"Port is UNIX fd not opened by emulator", Line::kNumbers},
    NamedLine{"Protection", Line::kWords},
    NamedLine{"Queue", Line::kNumbers},
    NamedLine{"Read Concurrency", Line::kWords},
    NamedLine{"Refc", Line::kNumbers},
    NamedLine{"Registered as", Line::kAtom},
    NamedLine{"Slot", Line::kNumbers},
    NamedLine{"State", Line::kWords},
    NamedLine{"Table", Line::kAtom},
    NamedLine{"Task Flags", Line::kWords},
    NamedLine{"Time left", Line::kNumbers},
    NamedLine{"Type", Line::kWords},
    NamedLine{"Words", Line::kNumbers},
    NamedLine{"Write Concurrency", Line::kWords},
};

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether all of it is numbers and identities: `<0.1.0>`, `#Port<0.3>`, `(<0.62.0>,#Ref<0.1.2>)`.
bool is_numbers(std::string_view text) {
    for (auto rest = text; !rest.empty();) {
        constexpr std::array kWords = {"#Port<"sv, "#Ref<"sv, "0x"sv};
        const auto* const word = std::ranges::find_if(
            kWords, [rest](std::string_view known) { return rest.starts_with(known); });
        if (word != kWords.end()) {
            const auto digits = *word == "0x" ? "0123456789abcdefABCDEF"sv : ""sv;
            rest.remove_prefix(word->size());
            rest.remove_prefix(std::min(rest.find_first_not_of(digits), rest.size()));
            continue;
        }
        if ("0123456789<>.,()[]{}/- "sv.find(rest.front()) == std::string_view::npos) {
            return false;
        }
        rest.remove_prefix(1);
    }
    return true;
}

/// An atom as it is printed, in quotes or not.
std::span<std::byte> without_quotes(std::span<std::byte> atom) {
    constexpr std::byte kQuote{'\''};
    return atom.size() >= 2 && atom.front() == kQuote && atom.back() == kQuote
               ? atom.subspan(1, atom.size() - 2)
               : atom;
}

void hide_atom(std::span<std::byte> atom, const AtomNames& atoms) {
    if (!is_numbers(text_of(atom))) {
        atoms.redact(std::numeric_limits<std::uint32_t>::max(), without_quotes(atom));
    }
}

class SectionLines {
  public:
    SectionLines(std::string_view kind, bool continues, const AtomNames& atoms)
        : atoms_(atoms), is_atoms_(kind == "atoms"), in_line_(continues), after_text_(continues) {}

    void run(std::span<std::byte> lines) {
        for (auto rest = lines; !rest.empty();) {
            const auto length = std::min(text_of(rest).find('\n'), rest.size());
            line(rest.first(length));
            in_line_ = false;
            rest = rest.subspan(std::min(length + 1, rest.size()));
        }
    }

  private:
    void line(std::span<std::byte> line) {
        if (in_line_) {
            hide(line);
            return;
        }
        if (is_atoms_) {
            hide_atom(line, atoms_);
            return;
        }
        const auto text = text_of(line);
        const auto colon = text.find(": ");
        const auto* const known =
            std::ranges::find(kLines, text.substr(0, colon), &NamedLine::name);
        if (colon == std::string_view::npos || known == kLines.end()) {
            hide_text(line, colon);
            return;
        }
        const auto value = line.subspan(colon + 2);
        // A text that ends lines of its own may look like other lines.
        const auto rule = after_text_ && known->rule == Line::kWords ? Line::kHidden : known->rule;
        if (rule == Line::kAtom) {
            hide_atom(value, atoms_);
        } else if (rule == Line::kHidden ||
                   (rule == Line::kNumbers && !is_numbers(text_of(value)))) {
            hide(value);
        }
    }
    /// The names of lines that have texts remain, so that a section's lines can be told apart.
    void hide_text(std::span<std::byte> line, std::size_t colon) {
        constexpr std::array kTexts = {"Message"sv,
                                       "Port controls external process"sv,
                                       "Port controls forker process"sv,
                                       "Port Data"sv,
                                       "Current attributes"sv,
                                       "Current compilation info"sv,
                                       "Old attributes"sv,
                                       "Old compilation info"sv,
                                       "Remote link"sv,
                                       "Remote monitoring"sv,
                                       "Remotely monitored by"sv,
                                       "Error"sv,
                                       "Uniq"sv};
        const auto name = text_of(line).substr(0, colon);
        const bool is_named =
            colon != std::string_view::npos && std::ranges::find(kTexts, name) != kTexts.end();
        hide(is_named ? line.subspan(colon + 2) : line);
        after_text_ = true;
    }

    const AtomNames& atoms_;
    bool is_atoms_;
    bool in_line_;     ///< the next line began in the piece before
    bool after_text_;  ///< a line of the section was hidden
};

struct SectionFields {
    std::span<std::byte> tag;
    std::span<std::byte> argument;
    std::span<std::byte> lines;
    bool continues = false;
};

Result<SectionFields> fields_of(std::span<std::byte> section) {
    constexpr std::uint32_t kTag = 1;
    constexpr std::uint32_t kArgument = 2;
    constexpr std::uint32_t kText = 3;
    constexpr std::uint32_t kContinues = 4;
    SectionFields fields;
    for (WireReader reader(section);;) {
        ASSIGN_OR_RETURN(const auto next, reader.next());
        if (!next) {
            return fields;
        }
        const bool is_bytes = next->type == WireField::Type::kBytes;
        auto* const text = next->number == kTag        ? &fields.tag
                           : next->number == kArgument ? &fields.argument
                           : next->number == kText     ? &fields.lines
                                                       : nullptr;
        if (is_bytes && text != nullptr && text->empty()) {
            *text = next->value;
        } else if (!is_bytes && next->number == kContinues) {
            fields.continues = true;
        } else {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("a CrashSection record has field {}, and this version of the "
                                    "program does not know what to hide in it",
                                    next->number));
        }
    }
}

}  // namespace

Result<void> hide_crash_section(std::span<std::byte> section, const AtomNames& atoms) {
    ASSIGN_OR_RETURN(const auto fields, fields_of(section));
    const auto kind = text_of(fields.tag);
    if (std::ranges::find(kKeptKinds, kind) != kKeptKinds.end()) {
        return {};
    }
    if (std::ranges::find(kKinds, kind) == kKinds.end()) {
        std::ranges::replace_if(
            fields.lines, [](std::byte byte) { return byte != std::byte{'\n'}; }, std::byte{'x'});
        hide(fields.argument);
        hide(fields.tag);
        return {};
    }
    SectionLines(kind, fields.continues, atoms).run(fields.lines);
    hide_atom(fields.argument, atoms);
    return {};
}

}  // namespace beamdump::redact
