#include "query/diff/heap/heap_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace beamdump::query {

namespace {

std::uint64_t bytes_of(const HeapReport& report, std::uint64_t words) {
    constexpr std::uint64_t kMost = 1ULL << 60U;
    return std::min(words, kMost / 8) * report.dump.word_bytes;
}

/// A root's name that does not depend on how deep the stack is. Messages are all one.
std::string root_key(const RootLine& root) {
    if (root.kind == RootKind::kMessage) {
        return "messages";
    }
    return root.kind == RootKind::kStack && !root.is_state
               ? fmt::format("y({}) of {}", root.index, root.name)
               : root_text(root);
}

void add_root_kinds(const HeapReport& report, std::size_t dump, ThingTable& table) {
    table.begin(dump);
    for (const RootGroup& group : report.roots) {
        table.add(root_kind_text(group.kind),
                  {.size = bytes_of(report, group.shared_words), .members = group.total});
    }
}

void add_roots(const HeapReport& report, std::size_t dump, ThingTable& table) {
    const bool whole = std::ranges::all_of(
        report.roots, [](const RootGroup& group) { return group.lines.size() == group.total; });
    table.begin(dump, whole);
    for (const RootGroup& group : report.roots) {
        // Of more messages than lines the sum would be that of the largest only.
        if (group.kind == RootKind::kMessage && group.lines.size() != group.total) {
            continue;
        }
        for (const RootLine& root : group.lines) {
            table.add(root_key(root),
                      {.size = root.whole ? std::optional(bytes_of(report, root.shared_words))
                                          : std::nullopt},
                      root_kind_text(group.kind));
        }
    }
}

void add_counts(const HeapReport& report, const std::vector<KindCount>& counts, std::size_t dump,
                ThingTable& table) {
    const bool whole = counts.size() < kHeapLines;
    table.begin(dump, whole);
    for (const KindCount& count : counts) {
        // What "others" are depends on what is listed.
        if (whole || count.name != "others") {
            table.add(count.name,
                      {.size = bytes_of(report, count.words), .members = count.objects});
        }
    }
}

void add_kinds(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.kinds, dump, table);
}

void add_tags(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.tags, dump, table);
}

void add_key_sets(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.key_sets, dump, table);
}

void add_paths(const HeapReport& report, std::size_t dump, ThingTable& table) {
    // A term that only wraps its largest part has no line of its own.
    table.begin(dump, false);
    for (const LargeTermLine& term : report.largest) {
        table.add(term.path.empty() ? term.root
                                    : fmt::format("{}, {}", term.root, fmt::join(term.path, ", ")),
                  {.size = bytes_of(report, term.words)});
    }
}

void add_binaries(const HeapReport& report, std::size_t dump, ThingTable& table) {
    table.begin(dump);
    table.add(
        "reference-counted binaries",
        {.size = report.unsized_binaries == 0 ? std::optional(report.binary_bytes) : std::nullopt,
         .members = std::max<std::uint64_t>(report.binaries, 1)});
}

constexpr std::array<HeapSection, 7> kSections = {{
    {{.name = "heap_roots",
      .title = "Roots",
      .thing = "ROOT",
      .size = "bytes",
      .members = "roots",
      .ranked = true,
      .container = "heap_root_kinds"},
     add_roots},
    {{.name = "heap_root_kinds",
      .title = "Roots by kind",
      .thing = "KIND",
      .size = "bytes",
      .members = "roots",
      .ranked = true},
     add_root_kinds},
    {{.name = "heap_paths", .title = "Paths to large terms", .thing = "PATH", .size = "bytes"},
     add_paths},
    {{.name = "heap_kinds",
      .title = "Terms by kind",
      .thing = "KIND",
      .size = "bytes",
      .members = "objects"},
     add_kinds},
    {{.name = "heap_tags",
      .title = "Tuples by tag",
      .thing = "TAG",
      .size = "bytes",
      .members = "objects"},
     add_tags},
    {{.name = "heap_key_sets",
      .title = "Maps by their keys",
      .thing = "KEYS",
      .size = "bytes",
      .members = "objects"},
     add_key_sets},
    {{.name = "heap_binaries",
      .title = "Binaries that its terms keep",
      .thing = "WHAT",
      .size = "bytes"},
     add_binaries},
}};

}  // namespace

std::span<const HeapSection> heap_sections() {
    return kSections;
}

}  // namespace beamdump::query
