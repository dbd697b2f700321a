#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/sections/table_sections.h>
#include <libdump/format/process_name.h>
#include <libdump/write/record_pages.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace beamdump::crash {
namespace {

template <typename Value>
using Word = std::pair<std::string_view, Value>;

constexpr auto kTypes =
    std::to_array<Word<records::EtsType>>({{"set", records::ETS_TYPE_SET},
                                           {"bag", records::ETS_TYPE_BAG},
                                           {"duplicate_bag", records::ETS_TYPE_DUPLICATE_BAG},
                                           {"ordered_set", records::ETS_TYPE_ORDERED_SET}});

/// Not among them: <TNV>, which the runtime prints of a table that is being deleted (OTP 25,
/// erl_db.c: table_info() finds none of the three in its status).
constexpr auto kProtections =
    std::to_array<Word<records::EtsProtection>>({{"private", records::ETS_PROTECTION_PRIVATE},
                                                 {"protected", records::ETS_PROTECTION_PROTECTED},
                                                 {"public", records::ETS_PROTECTION_PUBLIC}});

constexpr auto kConcurrencies = std::to_array<Word<records::EtsWriteConcurrency>>(
    {{"false", records::ETS_WRITE_CONCURRENCY_FALSE},
     {"true", records::ETS_WRITE_CONCURRENCY_TRUE},
     {"auto", records::ETS_WRITE_CONCURRENCY_AUTO}});

/// Calls `set` with what `words` has for `text`, if anything.
template <typename Words, typename Set>
void one_of(const Words& words, std::string_view text, const Set& set) {
    const auto found = std::ranges::find(words, text, &Words::value_type::first);
    if (found != words.end()) {
        set(found->second);
    }
}

/// Calls `set` if `text` is a boolean.
template <typename Set>
void flag(std::string_view text, const Set& set) {
    if (text == "true" || text == "false") {
        set(text == "true");
    }
}

/// The numbers of `#Ref<0.1.2.3>` but the first, the last one first, as the VM holds them.
std::vector<std::uint32_t> parse_reference(std::string_view text) {
    constexpr std::string_view kBefore = "#Ref<";
    std::vector<std::uint32_t> numbers;
    if (!text.starts_with(kBefore) || !text.ends_with('>')) {
        return numbers;
    }
    text.remove_prefix(kBefore.size());
    text.remove_suffix(1);
    for (auto dot = text.rfind('.'); dot != std::string_view::npos; dot = text.rfind('.')) {
        const auto number = decimal_number(text.substr(dot + 1));
        if (!number || !std::in_range<std::uint32_t>(*number)) {
            return {};
        }
        numbers.push_back(static_cast<std::uint32_t>(*number));
        text = text.substr(0, dot);
    }
    return numbers;
}

class EtsSections final : public SectionReader {
  public:
    EtsSections(Names& names, std::uint32_t word_bytes, DumpWriter& writer,
                records::Trailer& trailer)
        : names_(names),
          word_bytes_(word_bytes),
          pages_(writer, format::RecordKind::kEtsTables, *trailer.mutable_ets_tables_offset(),
                 limits::kEtsTablesOfAPage) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 1> kTags = {"ets"};
        return kTags;
    }

    void begin(std::string_view /*tag*/, std::string_view argument) override {
        table_.Clear();
        if (const auto owner = parse_pid(argument)) {
            table_.set_owner_id(*owner);
        }
    }

    void line(const SectionLine& line) override {
        const auto name = line.name.value_or("");
        if (name == "Table") {
            identifier(line.value);
        } else if (name == "Name") {
            if (const auto atom = whole_atom(line.value, names_)) {
                table_.set_name_atom(*atom);
            }
        } else if (name == "Objects") {
            if (const auto rows = decimal_number(line.value)) {
                table_.set_rows(*rows);
            }
        } else if (name == "Words") {
            if (const auto words = decimal_number(line.value)) {
                table_.set_bytes(*words * word_bytes_);
            }
        } else if (line.text.starts_with("Ordered set (")) {
            // db_print_tree(); of old releases the only line that tells.
            table_.set_type(records::ETS_TYPE_ORDERED_SET);
        } else {
            property(name, line.value);
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        return pages_.add([this](records::EtsTables& page) {
            if (page.table_size() == 0) {
                page.set_first_index(written_);
            }
            *page.add_table() = table_;
            ++written_;
        });
    }
    Result<void> finish(bool also_none) override { return pages_.finish(also_none); }

  private:
    /// A named table's identifier is its name here: an atom. Before OTP 20 that of an unnamed one
    /// is a number.
    void identifier(std::string_view text) {
        const auto number = decimal_number(text);
        if (number) {
            table_.set_number(*number);
        }
        for (const auto part : parse_reference(text)) {
            table_.add_reference(part);
        }
        table_.set_named(!number && !text.starts_with("#Ref<"));
    }

    void property(std::string_view name, std::string_view value) {
        if (name == "Type") {
            one_of(kTypes, value, [this](auto type) { table_.set_type(type); });
        } else if (name == "Protection") {
            one_of(kProtections, value, [this](auto kind) { table_.set_protection(kind); });
        } else if (name == "Write Concurrency") {
            one_of(kConcurrencies, value,
                   [this](auto kind) { table_.set_write_concurrency(kind); });
        } else if (name == "Read Concurrency") {
            flag(value, [this](bool is) { table_.set_read_concurrency(is); });
        } else if (name == "Compressed") {
            flag(value, [this](bool is) { table_.set_compressed(is); });
        } else if (name == "Fixed") {
            table_.set_fixed(value != "false");
        }
    }

    Names& names_;
    std::uint64_t word_bytes_;
    RecordPages<records::EtsTables> pages_;
    records::EtsTable table_;
    std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<SectionReader> ets_sections(Names& names, std::uint32_t word_bytes,
                                            DumpWriter& writer, records::Trailer& trailer) {
    return std::make_unique<EtsSections>(names, word_bytes, writer, trailer);
}

}  // namespace beamdump::crash
