#include <libdump/base/utf8.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/external_atoms.h>

#include <algorithm>

namespace beamdump {

namespace {

constexpr std::size_t kMaxCharacters = 255;  // MAX_ATOM_CHARACTERS, atom.h

std::string from_latin1(std::string_view latin1) {
    std::string utf8;
    utf8.reserve(latin1.size());
    for (const char c : latin1) {
        append_utf8(utf8, static_cast<unsigned char>(c));
    }
    return utf8;
}

std::size_t characters(std::string_view utf8) {
    return static_cast<std::size_t>(std::ranges::count_if(
        utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void ExternalAtoms::open(std::span<const std::uint32_t> cached) {
    indexes_ = cached;
    texts_.clear();
    texts_.resize(std::min<std::size_t>(cached.size(), 256));
}

const ExternalAtoms::Cached* ExternalAtoms::cached(std::uint8_t reference) {
    if (reference >= texts_.size()) {
        return nullptr;
    }
    auto& text = texts_[reference];
    if (!text) {
        auto name = names_->atom(indexes_[reference]);
        if (!name) {
            return nullptr;
        }
        auto quoted = quoted_atom(*name);
        text = Cached{std::move(*name), std::move(quoted)};
    }
    return &*text;
}

std::optional<std::string> ExternalAtoms::name(const ExternalAtom& atom) {
    if (atom.cached) {
        const Cached* text = cached(*atom.cached);
        return text == nullptr ? std::nullopt : std::optional(text->name);
    }
    std::string bytes(atom.bytes, '\0');
    const auto into = std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
    if (reader_->copy(atom.at, into) < into.size()) {
        return std::nullopt;
    }
    std::string name = atom.latin1 ? from_latin1(bytes) : std::move(bytes);
    if (characters(name) > kMaxCharacters) {
        return std::nullopt;
    }
    return name;
}

std::optional<std::uint32_t> ExternalAtoms::index(const ExternalAtom& atom) {
    if (atom.cached) {
        return *atom.cached < indexes_.size() ? std::optional(indexes_[*atom.cached])
                                              : std::nullopt;
    }
    const auto text = name(atom);
    return text ? names_->atom_index(*text) : std::nullopt;
}

std::optional<std::string> ExternalAtoms::quoted(const ExternalAtom& atom) {
    if (atom.cached) {
        const Cached* text = cached(*atom.cached);
        return text == nullptr ? std::nullopt : std::optional(text->quoted);
    }
    const auto text = name(atom);
    return text ? std::optional(quoted_atom(*text)) : std::nullopt;
}

std::optional<std::uint64_t> ExternalAtoms::channel(const ExternalAtom& node) {
    const auto text = name(node);
    if (!text) {
        return std::nullopt;
    }
    if (names_->is_this_node(*text)) {
        return 0;
    }
    if (node.cached) {
        return indexes_[*node.cached];
    }
    return names_->atom_index(*text);
}

}  // namespace beamdump
