#include <libdump/crash/import/heap/external_item_words.h>

#include <algorithm>

namespace beamdump::crash {

std::string ExternalItemWords::name_of(const ExternalAtom& atom) const {
    const auto name = bytes_.subspan(atom.at, atom.bytes);
    std::string text;
    for (const auto byte : name) {
        if (atom.latin1 && byte >= 0x80U) {
            text += static_cast<char>(0xC0U | byte >> 6U);
            text += static_cast<char>(0x80U | (byte & 0x3FU));
        } else {
            text += static_cast<char>(byte);
        }
    }
    return text;
}

std::uint32_t ExternalItemWords::atom(const ExternalAtom& atom) const {
    return names_.atom(name_of(atom));
}

bool ExternalItemWords::is_local(const ExternalItem& item) const {
    return name_of(item.atom) == format_.node_name;
}

std::uint64_t ExternalItemWords::node(const ExternalItem& item) const {
    return names_.node(
        {names_.node_atom(name_of(item.atom)), static_cast<std::uint32_t>(item.creation)});
}

std::vector<std::uint64_t> ExternalItemWords::reference(const ExternalItem& item) const {
    const auto numbers =
        std::span(item.numbers).first(std::min<std::uint64_t>(item.count, item.numbers.size()));
    // 32-bit numbers in pairs: for a local one after a mark, else after their count.
    std::vector<std::uint64_t> halves = {is_local(item) ? otp25::kOrdinaryReferenceMarker
                                                        : numbers.size()};
    halves.insert(halves.end(), numbers.begin(), numbers.end());
    halves.resize((halves.size() + 1) / 2 * 2);
    std::vector<std::uint64_t> words(1);
    if (!is_local(item)) {
        words.insert(words.end(), {node(item), 0});
    }
    for (std::size_t at = 0; at < halves.size(); at += 2) {
        words.push_back(halves[at] | halves[at + 1] << 32U);
    }
    words[0] = format_.words.header(
        is_local(item) ? BoxedKind::kReference : BoxedKind::kExternalReference, words.size() - 1);
    return words;
}

std::vector<std::uint64_t> ExternalItemWords::identifier(const ExternalItem& item) const {
    const bool pid = item.kind == ExternalKind::kPid;
    const auto data = pid ? item.numbers[0] | item.numbers[1] << 32U : item.numbers[0];
    return {format_.words.header(pid ? BoxedKind::kExternalPid : BoxedKind::kExternalPort,
                                 otp25::kExternalData),
            node(item), 0, data};
}

std::vector<std::uint64_t> ExternalItemWords::fun(const ExternalItem& item,
                                                  std::uint64_t environment) const {
    const auto& scheme = format_.words.scheme();
    const bool external = item.kind == ExternalKind::kExport;
    const auto arity = static_cast<std::uint32_t>(item.count);
    const auto entry = external
                           ? names_.export_of({atom(item.atom), atom(item.name), arity})
                           : names_.fun({atom(item.atom), static_cast<std::uint32_t>(item.value),
                                         static_cast<std::int32_t>(item.uniq), arity});
    // Releases that keep a fun's entry alive by a FunRef have that behind the environment.
    const bool has_reference = !external && scheme.fun_in_header && !scheme.fun_kind_in_header;
    const auto terms = external ? 0 : environment + (has_reference ? 1 : 0);
    std::vector<std::uint64_t> words(
        external ? scheme.export_words : scheme.fun_environment + terms, format_.words.nil());
    words[0] = format_.words.fun_header(arity, terms, external);
    words[otp25::kFunEntry] = entry;
    if (!scheme.fun_in_header) {
        words[otp25::kFunCounts] = arity | terms << 8U;
        // A local fun's creator is treated like its environment.
        words[otp25::kFunCreator] =
            external ? format_.words.atom(atom(item.atom)) : format_.words.nil();
    }
    return words;
}

}  // namespace beamdump::crash
