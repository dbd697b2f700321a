#include "query/heap/heap_counts.h"

#include "query/term/term_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

namespace {

std::string_view boxed_kind_text(BoxedKind kind) {
    switch (kind) {
        case BoxedKind::kTuple:
            return "tuple";
        case BoxedKind::kMatchContext:
            return "match_context";
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return "big_integer";
        case BoxedKind::kReference:
            return "reference";
        case BoxedKind::kFun:
            return "fun";
        case BoxedKind::kFloat:
            return "float";
        case BoxedKind::kRefcBinary:
            return "refc_binary";
        case BoxedKind::kHeapBinary:
            return "heap_binary";
        case BoxedKind::kSubBinary:
            return "sub_binary";
        case BoxedKind::kSubBits:
            return "sub_bits";
        case BoxedKind::kFunRef:
            return "fun_reference";
        case BoxedKind::kRecord:
            return "native_record";
        case BoxedKind::kExternalPid:
            return "external_pid";
        case BoxedKind::kExternalPort:
            return "external_port";
        case BoxedKind::kExternalReference:
            return "external_reference";
        case BoxedKind::kFlatMap:
            return "small_map";
        case BoxedKind::kHashMapNode:
            return "large_map_node";
        case BoxedKind::kHashMapHead:
            return "large_map";
        case BoxedKind::kUnknown:
            break;
    }
    return "unknown";
}

void sort_by_words(std::vector<KindCount>& counts, std::size_t most) {
    // Ties by name, as atom indexes differ between a dump and its conversions.
    std::ranges::sort(counts, [](const KindCount& a, const KindCount& b) {
        return a.words != b.words ? a.words > b.words : a.name < b.name;
    });
    counts.resize(std::min(counts.size(), most));
}

void add_rest(std::vector<KindCount>& counts, const ObjectCount& rest) {
    if (rest.objects > 0) {
        counts.push_back({"others", rest.objects, rest.words});
    }
}

std::string tag_text(TermContext& context, const HeapCensus::Tag& tag) {
    constexpr std::uint32_t kMaxPlaces = 16;
    std::string text = "{" + atom_text(context, tag.first);
    for (std::uint32_t i = 1; i < std::min(tag.second, kMaxPlaces); ++i) {
        text += ",_";
    }
    return text + (tag.second > kMaxPlaces ? fmt::format(",... {} elements}}", tag.second) : "}");
}

std::string keys_text(HeapReading& reading, TermPrinter& printer, const HeapCensus::KeySet& keys) {
    std::vector<std::string> texts;
    for (const std::uint64_t key : keys) {
        texts.push_back(key == reading.process().scheme.non_value
                            ? "_"
                            : term_text(printer, key, reading.options().term_bytes).text);
    }
    return fmt::format("#{{{}}}", fmt::join(texts, ","));
}

}  // namespace

void list_counts(HeapReading& reading, const HeapCensus& census, HeapReport& report) {
    constexpr std::size_t kAllKinds = 1000;
    const std::size_t limit = reading.most_lines();
    // Patterns of terms, not terms: written as Erlang's in any syntax.
    TermPrinter patterns(reading.process().context(), without_style(reading.process().scheme));
    if (census.cells().objects > 0) {
        report.kinds.push_back({"cell", census.cells().objects, census.cells().words});
    }
    std::map<std::string_view, ObjectCount> kinds;
    for (const auto& [kind, count] : census.kinds()) {
        kinds[boxed_kind_text(kind)].objects += count.objects;
        kinds[boxed_kind_text(kind)].words += count.words;
    }
    for (const auto& [name, count] : kinds) {
        report.kinds.push_back({std::string(name), count.objects, count.words});
    }
    sort_by_words(report.kinds, kAllKinds);
    for (const auto& [tag, count] : census.tags()) {
        report.tags.push_back(
            {tag_text(reading.process().context(), tag), count.objects, count.words});
    }
    add_rest(report.tags, census.other_tags());
    sort_by_words(report.tags, limit);
    for (const auto& [keys, count] : census.key_sets()) {
        report.key_sets.push_back({keys_text(reading, patterns, keys), count.objects, count.words});
    }
    add_rest(report.key_sets, census.other_key_sets());
    sort_by_words(report.key_sets, limit);
}

}  // namespace beamdump::query
