#include "query/redaction/term_lists.h"

#include "query/holders/pattern.h"

#include <libdump/term/binary_content.h>

#include <array>
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

}  // namespace beamdump::query
