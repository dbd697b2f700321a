#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>
#include <libdump/model/code_index.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

constexpr std::size_t kModulesHeld = 32;
constexpr std::size_t kLocationsHeld = 64;
// Bound for a source file's name: a path, so no longer than the system's PATH_MAX.
constexpr std::size_t kLongestFileName = 4096;
// A function's ErtsCodeInfo is aligned to this (beam_code.h, OTP 25): what pads it is less.
constexpr std::uint64_t kCodeAlignment = 8;
// A line table's location (beam_code.h: LOC_FILE, LOC_LINE).
constexpr unsigned kFileShift = 24;
constexpr std::uint32_t kLineMask = (1U << kFileShift) - 1;

constexpr std::int64_t kLargestCharacter = 0x10FFFF;

/// The characters of a proper list of characters; nullopt for other terms.
std::optional<std::string> list_text(RegionMap& words, const TagScheme& scheme,
                                     std::uint64_t term) {
    std::string text;
    for (std::size_t length = 0; length < kLongestFileName; ++length) {
        if (term == scheme.nil) {
            return text;
        }
        std::array<std::uint64_t, 2> cell{};
        if (word_kind(scheme, term) != WordKind::kList) {
            return std::nullopt;
        }
        const auto got = words.words(pointer_of(term), cell);
        if (!got || *got != cell.size() || word_kind(scheme, cell[0]) != WordKind::kSmall) {
            return std::nullopt;
        }
        const std::int64_t character = small_value(cell[0]);
        if (character < 0 || character > kLargestCharacter) {
            return std::nullopt;
        }
        append_utf8(text, static_cast<char32_t>(character));
        term = cell[1];
    }
    return std::nullopt;
}

}  // namespace

CodeIndex::CodeIndex(DumpReader& reader, Faults& faults, AtomTable& atoms, RegionMap& literals,
                     format::TermScheme scheme, std::uint64_t word_bytes)
    : reader_(reader),
      faults_(faults),
      atoms_(atoms),
      literals_(literals),
      scheme_(scheme),
      word_bytes_(word_bytes),
      columns_(kModulesHeld),
      locations_(kLocationsHeld) {}

Result<void> CodeIndex::load_instances() {
    const auto add = [this](const records::ModuleRef& ref) {
        instances_.push_back(
            {ref.name_atom(), ref.instance(), ref.code_start(), ref.code_end(), ref.offset()});
    };
    for (const std::uint64_t offset : reader_.trailer().module_index_offset()) {
        auto page = reader_.message_at<records::ModuleIndexPage>(
            offset, format::RecordKind::kModuleIndexPage);
        if (!page) {
            return wrap("reading the index of modules", std::move(page.error()));
        }
        std::ranges::for_each(page->module(), add);
    }
    if (const RecoveredIndex* recovered = reader_.recovered()) {
        std::ranges::for_each(recovered->modules, add);
    }
    std::ranges::sort(instances_, {}, &Instance::code_start);
    return {};
}

Result<const std::vector<CodeIndex::Instance>*> CodeIndex::instances() {
    if (!loaded_) {
        loaded_ = true;
        RETURN_IF_ERROR(load_instances());
    }
    return &instances_;
}

Result<CodeIndex::Columns> CodeIndex::read_columns(const Instance& instance) {
    auto record = reader_.record_at(instance.offset);
    if (!record) {
        return std::unexpected(record.error());
    }
    Columns columns;
    RETURN_IF_ERROR(DumpReader::parse_into(*record, format::RecordKind::kModule, columns.module));
    while (true) {
        ASSIGN_OR_RETURN(auto next, reader_.next(*record));
        if (!next) {
            return columns;
        }
        record = *next;
        if (record->kind == format::RecordKind::kFunctions) {
            ASSIGN_OR_RETURN(auto page, DumpReader::parse<records::Functions>(
                                            *record, format::RecordKind::kFunctions));
            const int count =
                std::min({page.start_address_size(), page.name_atom_size(), page.arity_size()});
            for (int i = 0; i < count; ++i) {
                columns.function_start.push_back(page.start_address(i));
                columns.function_name.push_back(page.name_atom(i));
                columns.function_arity.push_back(page.arity(i));
            }
        } else if (record->kind == format::RecordKind::kLines) {
            ASSIGN_OR_RETURN(
                auto page, DumpReader::parse<records::Lines>(*record, format::RecordKind::kLines));
            const int count = std::min(page.address_size(), page.location_size());
            for (int i = 0; i < count; ++i) {
                columns.line_address.push_back(page.address(i));
                columns.line_location.push_back(page.location(i));
            }
        } else {
            return columns;
        }
    }
}

Result<std::shared_ptr<const CodeIndex::Columns>> CodeIndex::columns(const Instance& instance) {
    if (auto known = columns_.find(instance.offset)) {
        return known;
    }
    auto columns = read_columns(instance);
    if (!columns) {
        return wrap("reading a module's functions", std::move(columns.error()));
    }
    return columns_.insert(instance.offset, std::move(*columns));
}

std::optional<std::string> CodeIndex::file_name(const records::Module& module, std::uint32_t file) {
    const auto scheme = scheme_of(scheme_);
    const bool listed = file < static_cast<std::uint32_t>(module.file_name_words_size());
    if ((listed && !scheme) || (!listed && file != 0)) {
        return std::nullopt;
    }
    const auto word = listed ? module.file_name_words(static_cast<int>(file)) : 0;
    if (!listed || word == scheme->nil) {
        auto name = atoms_.text(module.name_atom());
        return name ? std::optional(*name + ".erl") : std::nullopt;
    }
    if (word_kind(*scheme, word) == WordKind::kAtom) {
        return atoms_.text(static_cast<std::uint32_t>(table_index(word)));
    }
    auto name = list_text(literals_, *scheme, word);
    if (name) {
        // A redaction hides characters as the number 0.
        std::ranges::replace(*name, '\0', 'x');
    }
    return name;
}

void CodeIndex::add_line(const Columns& columns, std::uint64_t address, CodeLocation& location) {
    const auto after = std::ranges::upper_bound(columns.line_address, address);
    if (after == columns.line_address.begin()) {
        return;
    }
    const auto place = static_cast<std::size_t>(after - columns.line_address.begin()) - 1;
    const std::uint32_t packed = columns.line_location[place];
    // The VM searches the function's own part of the table only, which may begin in the padding
    // before the function. A location of 0 means none.
    if (columns.line_address[place] + kCodeAlignment <= location.function_start || packed == 0) {
        return;
    }
    location.file = file_name(columns.module, packed >> kFileShift);
    location.line = packed & kLineMask;
}

Result<std::optional<CodeLocation>> CodeIndex::look_up(std::uint64_t address) {
    RETURN_IF_ERROR(instances());
    const auto after = std::ranges::upper_bound(instances_, address, {}, &Instance::code_start);
    if (after == instances_.begin() || address >= std::prev(after)->code_end) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto held, columns(*std::prev(after)));
    const Columns& columns = *held;
    const auto next = std::ranges::upper_bound(columns.function_start, address);
    if (next == columns.function_start.begin()) {
        return std::nullopt;
    }
    const auto place = static_cast<std::size_t>(next - columns.function_start.begin()) - 1;
    CodeLocation location;
    location.function = FunctionName{columns.module.name_atom(), columns.function_name[place],
                                     columns.function_arity[place]};
    location.function_start = columns.function_start[place];
    location.mfa_start = location.function_start + mfa_offset_of(word_bytes_);
    add_line(columns, address, location);
    return location;
}

std::optional<CodeLocation> CodeIndex::at(std::uint64_t address) {
    if (auto known = locations_.find(address)) {
        return *known;
    }
    auto location = look_up(address);
    if (!location) {
        faults_.note(location.error());
        return std::nullopt;
    }
    if (*location) {
        locations_.insert(address, **location);
    }
    return *location;
}

}  // namespace beamdump
