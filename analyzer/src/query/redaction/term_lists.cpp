#include "query/redaction/term_lists.h"

#include "query/holders/pattern.h"

#include <libdump/term/binary_content.h>
#include <libdump/term/map_cells.h>

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace beamdump::query {

namespace {

constexpr std::size_t kMaxKeyBytes = 256;

/// The text of a key that is a binary; nothing for another term, or a longer one.
std::optional<std::string> binary_text(const TagScheme& scheme, WordReader& words,
                                       std::uint64_t word) {
    BinaryContent content;
    const auto object = heap_object(scheme, words, word);
    if (!object ||
        BinaryContent::resolve(scheme, words, object->address, content) !=
            BinaryContent::Status::kFound ||
        content.whole_bytes() > kMaxKeyBytes) {
        return std::nullopt;
    }
    std::array<std::uint8_t, kMaxKeyBytes> bytes{};
    const auto got = content.octets(words, 0, std::span(bytes).first(content.whole_bytes()));
    return std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(got));
}

}  // namespace

Choice TermLists::of_text(const List& list, std::string_view text) {
    constexpr std::string_view kElixir = "Elixir.";
    const auto in = [&](const std::vector<std::string>& patterns) {
        return redact::matches(patterns, text) ||
               (list.elixir && text.starts_with(kElixir) &&
                redact::matches(patterns, text.substr(kElixir.size())));
    };
    if (in(list.names->hide)) {
        return Choice::kHidden;
    }
    return in(list.names->keep) ? Choice::kKept : Choice::kNone;
}

Choice TermLists::of_atom(List& list, std::uint64_t atom) {
    if (list.names->empty()) {
        return Choice::kNone;
    }
    if (const auto known = list.known.find(atom); known != list.known.end()) {
        return known->second;
    }
    const auto text = atoms_.find(static_cast<std::uint32_t>(atom));
    const Choice choice = text && *text ? of_text(list, **text) : Choice::kHidden;
    list.known.emplace(atom, choice);
    return choice;
}

Choice TermLists::key(const TagScheme& scheme, WordReader& words, std::uint64_t word) {
    if (keys_.names->empty()) {
        return Choice::kNone;
    }
    std::optional<std::string> text;
    switch (word_kind(scheme, word)) {
        case WordKind::kAtom:
            return of_atom(keys_, table_index(word));
        case WordKind::kList:
            text = list_characters(scheme, words, word, kMaxKeyBytes);
            break;
        case WordKind::kBoxed:
            text = binary_text(scheme, words, word);
            break;
        default:
            break;
    }
    return text ? of_text(keys_, *text) : Choice::kNone;
}

bool TermLists::is_struct_key(std::uint64_t atom) {
    if (struct_key_ == ~std::uint64_t{0}) {
        const auto index = atoms_.index_of("__struct__");
        struct_key_ = index && *index ? **index : ~std::uint64_t{1};
    }
    return atom == struct_key_;
}

namespace {

using Pair = std::function<void(std::uint64_t key_slot, std::uint64_t key, std::uint64_t slot,
                                std::uint64_t value)>;

/// Reads one object, and collects what the lists name of it.
class PartsOfObject {
  public:
    PartsOfObject(TermLists& lists, const TagScheme& scheme, WordReader& words,
                  const HeapObject& object)
        : lists_(lists), scheme_(scheme), words_(words), object_(object) {}

    std::vector<ChosenPart> parts() {
        if (object_.is_cell) {
            return {};
        }
        switch (object_.kind) {
            case BoxedKind::kTuple:
                tuple();
                break;
            case BoxedKind::kRecord:
                record();
                break;
            case BoxedKind::kFlatMap:
            case BoxedKind::kHashMapHead:
                map();
                break;
            default:
                break;
        }
        return std::move(parts_);
    }

  private:
    [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t slot) {
        std::uint64_t read = 0;
        return words_.read(slot, read) == WordStatus::kHere ? std::optional(read) : std::nullopt;
    }
    [[nodiscard]] std::uint64_t slot(std::uint64_t index) const {
        return object_.address + index * kWordBytes;
    }
    [[nodiscard]] bool is_atom(std::uint64_t word) const {
        return word_kind(scheme_, word) == WordKind::kAtom;
    }
    void add(std::uint64_t slot, std::uint64_t word, Choice choice) {
        if (choice != Choice::kNone) {
            parts_.push_back({slot, word, choice});
        }
    }
    void pair(std::uint64_t key_slot, std::uint64_t key, std::uint64_t slot, std::uint64_t value,
              Choice of_all) {
        const Choice choice = both(of_all, lists_.key(scheme_, words_, key));
        add(slot, value, choice);
        if (choice == Choice::kKept) {
            add(key_slot, key, choice);
        }
    }

    void tuple() {
        const auto arity = object_.words - 1;
        const auto tag = arity == 0 ? std::nullopt : word(slot(1));
        if (!tag) {
            return;
        }
        const Choice choice = is_atom(*tag) ? lists_.record(table_index(*tag)) : Choice::kNone;
        for (std::uint64_t i = 1; choice != Choice::kNone && i <= arity; ++i) {
            const auto element = word(slot(i));
            if (!element) {
                break;
            }
            add(slot(i), *element, choice);
        }
        const auto value = arity == 2 ? word(slot(2)) : std::nullopt;
        if (value) {
            pair(slot(1), *tag, slot(2), *value, Choice::kNone);
        }
    }

    /// A native record: its name and its fields' are in the definition.
    void record() {
        const auto definition = word(slot(otp29::kRecordDefinition));
        const auto at = definition ? pointer_of(*definition) : 0;
        const auto name_slot = at + otp29::kDefinitionName * kWordBytes;
        const auto name = word(name_slot);
        const bool named = name && is_atom(*name);
        const Choice choice = named ? lists_.record(table_index(*name)) : Choice::kHidden;
        if (named && choice == Choice::kKept) {
            add(name_slot, *name, choice);
        }
        for (auto i = otp29::kRecordValues; i < object_.words; ++i) {
            const auto value = word(slot(i));
            if (!value) {
                break;
            }
            const auto key_slot =
                at + (otp29::kDefinitionKeys + i - otp29::kRecordValues) * kWordBytes;
            if (const auto key = word(key_slot)) {
                pair(key_slot, *key, slot(i), *value, choice);
            } else {
                add(slot(i), *value, Choice::kHidden);
            }
        }
    }

    void map() {
        Choice choice = Choice::kNone;
        if (lists_.has_structs()) {
            each_pair([&](auto, std::uint64_t key, auto, std::uint64_t value) {
                if (is_atom(key) && is_atom(value) && lists_.is_struct_key(table_index(key))) {
                    choice = lists_.structure(table_index(value));
                }
            });
        }
        each_pair([&](std::uint64_t key_slot, std::uint64_t key, std::uint64_t value_slot,
                      std::uint64_t value) { pair(key_slot, key, value_slot, value, choice); });
    }

    void each_pair(const Pair& visit) {
        if (object_.kind == BoxedKind::kHashMapHead) {
            MapCells cells(scheme_, words_, object_.address, object_.header);
            for (std::uint64_t cell = 0; cells.next(cell);) {
                std::uint64_t key = 0;
                std::uint64_t value = 0;
                if (words_.read_pair(cell, key, value) == WordStatus::kHere) {
                    visit(cell, key, cell + kWordBytes, value);
                }
            }
            return;
        }
        const auto keys = word(slot(otp25::kFlatMapKeys));
        const auto size = word(slot(otp25::kFlatMapSize));
        for (std::uint64_t i = 0; keys && size && i < *size && i < otp25::kMaxFlatMapSize; ++i) {
            const auto key_slot = pointer_of(*keys) + (i + 1) * kWordBytes;
            const auto key = word(key_slot);
            const auto value = word(slot(otp25::kFlatMapValues + i));
            if (key && value) {
                visit(key_slot, *key, slot(otp25::kFlatMapValues + i), *value);
            }
        }
    }

    TermLists& lists_;
    const TagScheme& scheme_;
    WordReader& words_;
    const HeapObject& object_;
    std::vector<ChosenPart> parts_;
};

}  // namespace

std::vector<ChosenPart> chosen_parts(TermLists& lists, const TagScheme& scheme, WordReader& words,
                                     const HeapObject& object) {
    return PartsOfObject(lists, scheme, words, object).parts();
}

}  // namespace beamdump::query
