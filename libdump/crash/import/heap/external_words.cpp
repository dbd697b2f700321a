#include <libdump/crash/import/heap/external_words.h>
#include <libdump/term/external_item.h>
#include <libdump/term/external_tags.h>
#include <libdump/term/record_definition.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace beamdump::crash {

namespace {

/// The words of single items of a term in external format; collects their names.
class ExternalItemWords {
  public:
    ExternalItemWords(std::span<const std::uint8_t> bytes, const TextFormat& format, Names& names)
        : bytes_(bytes), format_(format), names_(names) {}

    /// In UTF-8.
    [[nodiscard]] std::string name_of(const ExternalAtom& atom) const;
    [[nodiscard]] std::uint32_t atom(const ExternalAtom& atom) const;
    [[nodiscard]] std::uint32_t atom_named(std::string_view name) const {
        return names_.atom(name);
    }
    /// Whether an identifier is the node's own.
    [[nodiscard]] bool is_local(const ExternalItem& item) const;
    [[nodiscard]] std::uint64_t node(const ExternalItem& item) const;
    [[nodiscard]] std::vector<std::uint64_t> reference(const ExternalItem& item) const;
    [[nodiscard]] std::vector<std::uint64_t> identifier(const ExternalItem& item) const;

    /// `environment`: terms that a local fun holds.
    [[nodiscard]] std::vector<std::uint64_t> fun(const ExternalItem& item,
                                                 std::uint64_t environment) const;

  private:
    std::span<const std::uint8_t> bytes_;
    const TextFormat& format_;
    Names& names_;
};

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
    }
    if (scheme.fun_creator != 0) {
        // A local fun's creator is treated like its environment.
        words[scheme.fun_creator] =
            external ? format_.words.atom(atom(item.atom)) : format_.words.nil();
    }
    return words;
}

using Word = WordImage::Word;

/// A whole term, its parts first.
class Builder {
  public:
    Builder(std::span<const std::uint8_t> bytes, const TextFormat& format, Names& names,
            std::uint64_t place)
        : bytes_(bytes),
          source_(bytes),
          words_(format.words),
          maker_(bytes, format, names),
          place_(place) {
        reader_.open(source_);
    }

    std::optional<ExternalWords> build() {
        std::uint64_t at = 1;
        auto root = object(at);
        if (!root || is_cell_) {
            return std::nullopt;
        }
        result_.root = std::move(*root);
        return std::move(result_);
    }

  private:
    using Words = std::vector<Word>;

    static Words plain(const std::vector<std::uint64_t>& values) {
        Words words;
        for (const auto value : values) {
            words.push_back({value, false});
        }
        return words;
    }

    /// Stores an object at a new address.
    Word put(Words words, bool is_cell) {
        const Word pointer{place_, true};
        place_ += words.size() * WordImage::kWordBytes;
        result_.parts.push_back({pointer.value, is_cell, std::move(words)});
        return pointer;
    }

    /// Reads the term at `at` and moves `at` behind it; returns the word, or that of its object.
    std::optional<Word> term(std::uint64_t& at) {
        const auto item = read_external_item(reader_, at);
        if (item.status != ExternalStatus::kHere || item.atom.cached || item.name.cached) {
            return std::nullopt;
        }
        if (const auto word = immediate(item)) {
            at = item.next;
            return Word{*word, false};
        }
        if (item.kind == ExternalKind::kPid && maker_.is_local(item)) {
            at = item.next;
            return Word{words_.pid(item.numbers[0], item.numbers[1]), false};
        }
        if (item.kind == ExternalKind::kPort && maker_.is_local(item)) {
            at = item.next;
            return Word{words_.port(item.numbers[0]), false};
        }
        constexpr unsigned kDeepest = 500;
        if (++depth_ > kDeepest) {
            return std::nullopt;
        }
        auto words = object(at);
        --depth_;
        return words ? std::optional(put(std::move(*words), is_cell_)) : std::nullopt;
    }

    std::optional<std::uint64_t> immediate(const ExternalItem& item) {
        switch (item.kind) {
            case ExternalKind::kNil:
                return words_.nil();
            case ExternalKind::kAtom:
                return words_.atom(maker_.atom(item.atom));
            case ExternalKind::kInteger:
                return WordMaker::is_small(item.value) ? std::optional(words_.small(item.value))
                                                       : std::nullopt;
            default:
                return std::nullopt;
        }
    }

    std::optional<Words> terms(std::uint64_t& at, std::uint64_t count) {
        Words words;
        for (std::uint64_t index = 0; index < count; ++index) {
            const auto word = term(at);
            if (!word) {
                return std::nullopt;
            }
            words.push_back(*word);
        }
        return words;
    }

    /// Reads the object at `at` and moves `at` behind it; returns its words, and whether it is a
    /// cell.
    std::optional<Words> object(std::uint64_t& at) {
        const auto item = read_external_item(reader_, at);
        if (item.status != ExternalStatus::kHere || item.atom.cached || item.name.cached) {
            return std::nullopt;
        }
        at = item.next;
        std::optional<Words> words;
        bool is_cell = false;
        switch (item.kind) {
            case ExternalKind::kReference:
                words = plain(maker_.reference(item));
                break;
            case ExternalKind::kPid:
            case ExternalKind::kPort:
                words = plain(maker_.identifier(item));
                break;
            case ExternalKind::kExport:
            case ExternalKind::kFun: {
                const bool local = item.kind == ExternalKind::kFun;
                // A local one's parts: who made it, and its environment.
                words = plain(maker_.fun(item, local && item.parts > 0 ? item.parts - 1 : 0));
                if (std::uint64_t budget = kMaxItems; !skip(at, item.parts, budget)) {
                    return std::nullopt;
                }
                break;
            }
            case ExternalKind::kInteger:
                words = plain(
                    {words_.header(
                         item.value < 0 ? BoxedKind::kNegativeBig : BoxedKind::kPositiveBig, 1),
                     item.value < 0 ? 0 - static_cast<std::uint64_t>(item.value)
                                    : static_cast<std::uint64_t>(item.value)});
                break;
            case ExternalKind::kBig:
                words = big(item);
                break;
            case ExternalKind::kFloat:
                if (in_record_ && is_trace(item.number)) {
                    return std::nullopt;
                }
                words = plain({words_.header(BoxedKind::kFloat, 1),
                               std::bit_cast<std::uint64_t>(item.number)});
                break;
            case ExternalKind::kTuple:
                words = terms(at, item.count);
                if (words) {
                    words->insert(words->begin(),
                                  {words_.header(BoxedKind::kTuple, item.count), false});
                }
                break;
            case ExternalKind::kMap:
                words = map(at, item.count);
                break;
            case ExternalKind::kRecord:
                words = record(at, item);
                break;
            case ExternalKind::kList:
                words = list(at, item.count);
                is_cell = true;
                break;
            case ExternalKind::kString:
                words = string(item);
                is_cell = true;
                break;
            case ExternalKind::kBinary:
                words = binary(item);
                break;
            default:
                return std::nullopt;
        }
        is_cell_ = is_cell;
        return words;
    }

    bool skip(std::uint64_t& at, std::uint64_t parts, std::uint64_t& budget) {
        for (; parts > 0; --parts) {
            if (skip_external(reader_, at, budget) != ExternalStatus::kHere) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::vector<std::uint64_t> octets(const ExternalItem& item) const {
        std::vector<std::uint64_t> words((item.count + 7) / 8, 0);
        for (std::uint64_t index = 0; index < item.count; ++index) {
            words[index / 8] |= std::uint64_t{bytes_[item.content + index]} << index % 8 * 8;
        }
        return words;
    }

    Words big(const ExternalItem& item) const {
        auto values = octets(item);
        while (values.size() > 1 && values.back() == 0) {
            values.pop_back();
        }
        values.insert(values.begin(), words_.header(item.negative ? BoxedKind::kNegativeBig
                                                                  : BoxedKind::kPositiveBig,
                                                    values.size()));
        return plain(values);
    }

    /// The text does not say whether a bit string was on the heap or part of another: it gets the
    /// form with fewer words, which overlap nothing in either case.
    Words binary(const ExternalItem& item) {
        constexpr std::uint64_t kByteBits = 8;
        const bool in_bits = words_.scheme().heap_binary_in_bits;
        const bool cut = item.last_bits < kByteBits && item.count > 0;
        const auto whole_bytes = item.count - (cut ? 1 : 0);
        const auto bits = whole_bytes * kByteBits + (cut ? item.last_bits : 0);
        auto values = octets(item);
        values.insert(values.begin(), {words_.header(BoxedKind::kHeapBinary, values.size() + 1),
                                       in_bits ? bits : item.count});
        const auto words = values.size();
        Words whole = plain(values);
        if (words <= otp25::kSubWords && (in_bits || !cut)) {
            return whole;
        }
        const Word original = put(std::move(whole), false);
        if (in_bits) {
            const auto base = original.value + otp25::kHeapBinaryData * WordImage::kWordBytes;
            return {{words_.header(BoxedKind::kSubBits, otp27::kSubWords - 1), false},
                    {base, false},
                    {0, false},
                    {bits, false},
                    original};
        }
        return {{words_.header(BoxedKind::kSubBinary, otp25::kSubWords - 2), false},
                {whole_bytes, false},
                {0, false},
                {cut ? std::uint64_t{item.last_bits} : 0, false},
                original};
    }

    std::optional<Words> list(std::uint64_t& at, std::uint64_t count) {
        auto elements = terms(at, count);
        const auto tail = elements ? term(at) : std::nullopt;
        return tail ? std::optional(cells(*elements, *tail)) : std::nullopt;
    }

    Words string(const ExternalItem& item) {
        Words elements;
        for (std::uint64_t index = 0; index < item.count; ++index) {
            elements.push_back({words_.small(bytes_[item.content + index]), false});
        }
        return cells(elements, {words_.nil(), false});
    }

    /// The first cell's words; the others are stored.
    Words cells(const Words& elements, Word tail) {
        for (std::size_t index = elements.size(); index-- > 1;) {
            tail = put({elements[index], tail}, true);
        }
        return {elements[0], tail};
    }

    std::optional<Words> map(std::uint64_t& at, std::uint64_t count) {
        const auto pairs = terms(at, count * 2);
        if (!pairs) {
            return std::nullopt;
        }
        return count <= otp25::kMaxFlatMapSize ? flat_map(*pairs) : hash_map(*pairs);
    }

    Words flat_map(const Words& pairs) {
        const auto count = pairs.size() / 2;
        Words keys = {{words_.header(BoxedKind::kTuple, count), false}};
        // The arity of a small map's header counts all its words but the header and one
        // (erl_map.h).
        constexpr unsigned kTypeBits = 2;
        Words words = {{words_.header(BoxedKind::kFlatMap, std::uint64_t{1} << kTypeBits), false},
                       {count, false},
                       {}};
        for (std::size_t index = 0; index < pairs.size(); index += 2) {
            keys.push_back(pairs[index]);
            words.push_back(pairs[index + 1]);
        }
        words[otp25::kFlatMapKeys] = put(std::move(keys), false);
        return words;
    }

    /// A native record, with its keys in the order of their declaration: the text does not have
    /// that of the node's atoms.
    std::optional<Words> record(std::uint64_t& at, const ExternalItem& item) {
        const auto& kinds = words_.scheme().by_subtag;
        if (std::ranges::find(kinds, BoxedKind::kRecord) == kinds.end()) {
            return std::nullopt;
        }
        const auto keys = terms(at, item.count);
        in_record_ = true;
        const auto values = keys ? terms(at, item.count) : std::nullopt;
        if (!values || std::ranges::any_of(*keys, [this](const Word& key) {
                return key.is_pointer || word_kind(words_.scheme(), key.value) != WordKind::kAtom;
            })) {
            return std::nullopt;
        }
        Words order = {{words_.header(BoxedKind::kTuple, item.count), false}};
        for (std::uint64_t field = 0; field < item.count; ++field) {
            order.push_back({words_.small(static_cast<std::int64_t>(field)), false});
        }
        const auto atom = [this](std::uint32_t index) { return Word{words_.atom(index), false}; };
        Words definition(otp29::kDefinitionKeys);
        definition[0] = {words_.header(BoxedKind::kTuple, otp29::kDefinitionKeys - 1 + item.count),
                         false};
        definition[otp29::kDefinitionOrder] = put(std::move(order), false);
        definition[otp29::kDefinitionHash] = {words_.small(0), false};
        definition[otp29::kDefinitionModule] = atom(maker_.atom(item.atom));
        definition[otp29::kDefinitionName] = atom(maker_.atom(item.name));
        definition[otp29::kDefinitionExported] =
            atom(maker_.atom_named(item.value == 1 ? "true" : "false"));
        definition.insert(definition.end(), keys->begin(), keys->end());
        Words words = {
            {words_.header(BoxedKind::kRecord, otp29::kRecordValues - 1 + item.count), false},
            put(std::move(definition), false)};
        words.insert(words.end(), values->begin(), values->end());
        return words;
    }

    /// Whether a float in a native record may be what is left of another object: the VM marks what
    /// it has written of a heap by the header of a float, and encodes that where a record leads to
    /// it (OUR_NIL of erl_process_dump.c, OTP 29). The word behind it is a size or an address.
    static bool is_trace(double number) {
        constexpr double kSmallest = 0x1p-511;
        return number != 0 && std::abs(number) < kSmallest;
    }

    /// Nodes of 16 items each, except for the head: not more nodes than the map had in the node.
    /// Keys are not placed by hash.
    Words hash_map(const Words& pairs) {
        constexpr std::size_t kItems = 16;
        Words items;
        for (std::size_t index = 0; index < pairs.size(); index += 2) {
            items.push_back(put({pairs[index], pairs[index + 1]}, true));
        }
        while (items.size() > kItems) {
            Words nodes;
            for (std::size_t first = 0; first < items.size(); first += kItems) {
                const auto some =
                    std::span(items).subspan(first).first(std::min(kItems, items.size() - first));
                Words node = {{words_.map_header(BoxedKind::kHashMapNode, some.size()), false}};
                node.insert(node.end(), some.begin(), some.end());
                nodes.push_back(put(std::move(node), false));
            }
            items = std::move(nodes);
        }
        Words head = {{words_.map_header(BoxedKind::kHashMapHead, items.size()), false},
                      {pairs.size() / 2, false}};
        head.insert(head.end(), items.begin(), items.end());
        return head;
    }

    // The VM's buffer for such terms has 1024 bytes.
    static constexpr std::uint64_t kMaxItems = 64U << 10U;

    std::span<const std::uint8_t> bytes_;
    ExternalBytes source_;
    const WordMaker& words_;
    ExternalItemWords maker_;
    ExternalReader reader_;
    std::uint64_t place_;
    ExternalWords result_;
    unsigned depth_ = 0;
    bool is_cell_ = false;
    bool in_record_ = false;  // or behind one, in the same line
};

}  // namespace

std::optional<ExternalWords> words_of_external(std::span<const std::uint8_t> bytes,
                                               const TextFormat& format, Names& names,
                                               std::uint64_t place) {
    if (bytes.empty() || bytes.front() != kExternalVersion) {
        return std::nullopt;
    }
    return Builder(bytes, format, names, place).build();
}

}  // namespace beamdump::crash
