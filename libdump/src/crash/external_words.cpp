#include "external_words.h"

#include <libdump/term/external_reader.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr std::uint8_t kVersionMagic = 131;

class Bytes final : public ExternalSource {
  public:
    explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
    std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) override {
        const auto rest = bytes_.subspan(std::min<std::uint64_t>(from, bytes_.size()));
        const auto part = rest.first(std::min(rest.size(), into.size()));
        std::ranges::copy(part, into.begin());
        return part.size();
    }

  private:
    std::span<const std::uint8_t> bytes_;
};

/// One item's words.
class Maker {
  public:
    Maker(std::span<const std::uint8_t> bytes, const TextFormat& format, Names& names)
        : bytes_(bytes), format_(format), names_(names) {}

    [[nodiscard]] std::string name_of(const ExternalAtom& atom) const {
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
    [[nodiscard]] std::uint32_t atom(const ExternalAtom& atom) const {
        return names_.atom(name_of(atom));
    }

    [[nodiscard]] bool is_local(const ExternalItem& item) const {
        return name_of(item.atom) == format_.node_name;
    }
    [[nodiscard]] std::uint64_t node(const ExternalItem& item) const {
        return names_.node(
            {names_.node_atom(name_of(item.atom)), static_cast<std::uint32_t>(item.creation)});
    }

    [[nodiscard]] std::vector<std::uint64_t> reference(const ExternalItem& item) const {
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
            is_local(item) ? BoxedKind::kReference : BoxedKind::kExternalReference,
            words.size() - 1);
        return words;
    }

    [[nodiscard]] std::vector<std::uint64_t> identifier(const ExternalItem& item) const {
        const bool pid = item.kind == ExternalKind::kPid;
        const auto data = pid ? item.numbers[0] | item.numbers[1] << 32U : item.numbers[0];
        return {format_.words.header(pid ? BoxedKind::kExternalPid : BoxedKind::kExternalPort,
                                     otp25::kExternalData),
                node(item), 0, data};
    }

    /// `environment`: terms that a local fun holds.
    [[nodiscard]] std::vector<std::uint64_t> fun(const ExternalItem& item,
                                                 std::uint64_t environment) const {
        const auto& scheme = format_.words.scheme();
        const bool external = item.kind == ExternalKind::kExport;
        const auto arity = static_cast<std::uint32_t>(item.count);
        const auto entry =
            external ? names_.export_of({atom(item.atom), atom(item.name), arity})
                     : names_.fun({atom(item.atom), static_cast<std::uint32_t>(item.value),
                                   static_cast<std::int32_t>(item.uniq), arity});
        // Releases that keep a fun's entry alive by a FunRef have that behind the environment.
        const bool has_reference = !external && scheme.fun_in_header && !scheme.fun_kind_in_header;
        const auto terms = external ? 0 : environment + (has_reference ? 1 : 0);
        std::vector<std::uint64_t> words(scheme.fun_environment + terms, format_.words.nil());
        words[0] = format_.words.fun_header(arity, terms, external);
        words[otp25::kFunEntry] = entry;
        if (!scheme.fun_in_header) {
            words[otp25::kFunCounts] = arity | terms << 8U;
            // Who made a local one, the VM leaves to the environment's fate.
            words[otp25::kFunCreator] =
                external ? format_.words.atom(atom(item.atom)) : format_.words.nil();
        }
        return words;
    }

  private:
    std::span<const std::uint8_t> bytes_;
    const TextFormat& format_;
    Names& names_;
};

}  // namespace

std::optional<std::vector<std::uint64_t>> words_of_external(std::span<const std::uint8_t> bytes,
                                                            const TextFormat& format,
                                                            Names& names) {
    if (bytes.empty() || bytes.front() != kVersionMagic) {
        return std::nullopt;
    }
    Bytes source(bytes);
    ExternalReader reader;
    reader.open(source);
    const auto item = read_external_item(reader, 1);
    if (item.status != ExternalStatus::kHere || item.atom.cached || item.name.cached) {
        return std::nullopt;
    }
    const Maker maker(bytes, format, names);
    switch (item.kind) {
        case ExternalKind::kReference:
            return maker.reference(item);
        case ExternalKind::kPid:
        case ExternalKind::kPort:
            return maker.identifier(item);
        case ExternalKind::kExport:
            return maker.fun(item, 0);
        case ExternalKind::kFun:
            // Its parts: who made it, and its environment.
            return maker.fun(item, item.parts > 0 ? item.parts - 1 : 0);
        default:
            return std::nullopt;
    }
}

}  // namespace beamdump::crash
