#include "query/holders/found_references.h"

#include "query/process/process_binaries.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

namespace beamdump::query {

namespace {

class ReferenceCounts {
  public:
    ReferenceCounts(const InputLimits& limits, FoundReferences& found)
        : budget_(limits), found_(found) {}

    void count(std::uint64_t binary) {
        constexpr std::uint64_t kBinaryMemory = 48;
        if (++found_.by_binary[binary] == 1) {
            budget_.use_memory(kBinaryMemory);
        }
    }
    [[nodiscard]] Result<void> check() const { return budget_.check_memory(); }

  private:
    Budget budget_;
    FoundReferences& found_;
};

/// Of what no process holds: each object that refers to a binary is one reference.
class ReferenceVisitor final : public SweepVisitor {
  public:
    explicit ReferenceVisitor(ReferenceCounts& counts) : counts_(counts) {}
    [[nodiscard]] bool wants_immediates() const override { return false; }
    Result<void> met(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        const auto binary = binary_of(object);
        const auto referred = binary != 0 ? binary : magic_binary_of(object);
        if (referred == 0) {
            return {};
        }
        counts_.count(referred);
        return counts_.check();
    }

  private:
    ReferenceCounts& counts_;
};

std::optional<std::string> what_lacks(const ProcessesRead& read, const NodeSweepCounts& node) {
    if (!read.complete()) {
        return "the memory of " +
               counted(read.inconsistent + read.sensitive, "process", "processes");
    }
    if (node.tables_without != 0) {
        return "rows of " + counted(node.tables_without, "ETS table") +
               " (beamdump-capture --ets full)";
    }
    if (node.compressed_rows != 0) {
        return "the terms of " + counted(node.compressed_rows, "compressed row");
    }
    if (node.persistent_terms_without != 0) {
        return counted(node.persistent_terms_without, "persistent term");
    }
    if (node.unreadable != 0) {
        return counted(node.unreadable, "term") + " that cannot be read";
    }
    return std::nullopt;
}

}  // namespace

Result<FoundReferences> found_references(Dump& dump, const InputLimits& limits,
                                         const ReadProgress& progress) {
    FoundReferences found;
    ReferenceCounts counts(limits, found);
    const auto count_lists = [&](OpenedProcess& process) -> Result<void> {
        RETURN_IF_ERROR(visit_off_heap_binaries(
            dump, process, OffHeapLists::kWithMagic,
            [&counts](std::uint64_t, std::uint64_t binary) { counts.count(binary); }));
        return counts.check();
    };
    // Which binaries a process refers to is no content of it.
    ASSIGN_OR_RETURN(const auto read,
                     visit_processes(dump, {.sensitive = true, .progress = progress}, count_lists));
    NodeSweep node(limits);
    ReferenceVisitor visitor(counts);
    const auto begin = [](const TermOwner&) {};
    RETURN_IF_ERROR(node.rows(dump, visitor, begin));
    RETURN_IF_ERROR(node.literals(dump, visitor, begin));
    RETURN_IF_ERROR(node.persistent_terms(dump, visitor, begin));
    found.lacks = what_lacks(read, node.counts());
    return found;
}

}  // namespace beamdump::query
