#include "query/process/process_binaries.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/messages.h>

#include <array>

namespace beamdump::query {

namespace {

using VisitBinary = std::function<void(std::uint64_t object, std::uint64_t binary)>;

/// A list of off-heap things (global.h, erl_off_heap_header): all have the next one's address in
/// the same place.
class OffHeapWalk {
  public:
    OffHeapWalk(OpenedProcess& process, OffHeapLists lists, const VisitBinary& visit)
        : context_(process.context()),
          scheme_(process.scheme),
          magic_(lists == OffHeapLists::kWithMagic),
          // A member of a list has three words at least, all of them captured.
          left_(process.run.end.words_captured() / 3 + 1),
          visit_(visit) {}

    void list(std::uint64_t address) {
        while (address != 0 && left_-- > 0) {
            std::array<std::uint64_t, otp25::kRefcWords> words{};
            const auto got = context_.words(address, words);
            if (!got || *got <= otp25::kRefcNext) {
                return;
            }
            const auto kind = boxed_kind(scheme_, words[0]);
            if (kind == BoxedKind::kRefcBinary && *got > scheme_.refc_binary) {
                visit_(address, words[scheme_.refc_binary]);
            } else if (magic_ && kind == BoxedKind::kReference &&
                       otp25::is_magic_reference(words[1])) {
                visit_(address, words[1]);
            }
            address = words[otp25::kRefcNext];
        }
    }

  private:
    ProcessContext& context_;
    const TagScheme& scheme_;
    bool magic_;
    std::uint64_t left_;
    const VisitBinary& visit_;
};

Result<void> walk_messages(Dump& dump, OpenedProcess& process, OffHeapWalk& walk) {
    MessageWalker messages(dump.reader(), process.run);
    for (;;) {
        ASSIGN_OR_RETURN(const auto* entry, messages.next());
        if (entry == nullptr) {
            return {};
        }
        process.context().set_message(entry);
        for (const auto& fragment : entry->fragment()) {
            walk.list(fragment.off_heap_first_address());
        }
        process.context().set_message(nullptr);
    }
}

}  // namespace

Result<void> visit_off_heap_binaries(Dump& dump, OpenedProcess& process, OffHeapLists lists,
                                     const VisitBinary& visit) {
    OffHeapWalk walk(process, lists, visit);
    walk.list(process.run.process.off_heap_first_address());
    if (process.scheme.writable_binaries_listed) {
        walk.list(process.run.process.writable_binaries_first_address());
    }
    const auto is_listed = [lists](format::RegionKind kind) {
        return kind == format::RegionKind::kHeapFragment ||
               (lists != OffHeapLists::kProcessInfo &&
                (kind == format::RegionKind::kMessageFragment ||
                 kind == format::RegionKind::kReceivedFragment));
    };
    for (const Region& region : process.run.directory.regions) {
        if (is_listed(region.kind)) {
            walk.list(region.off_heap_first_address);
        }
    }
    for (const Pack& pack : process.run.directory.packed_regions) {
        auto record = dump.reader().message_at<records::PackedRegions>(
            pack.offset, format::RecordKind::kPackedRegions);
        if (!record) {
            return wrap("reading heap fragments", std::move(record.error()));
        }
        for (const auto& region : record->region()) {
            if (is_listed(static_cast<format::RegionKind>(region.kind()))) {
                walk.list(region.off_heap_first_address());
            }
        }
    }
    return lists != OffHeapLists::kProcessInfo ? walk_messages(dump, process, walk)
                                               : Result<void>{};
}

Result<Excerpt<ReferencedBinary>> process_binaries(Dump& dump, OpenedProcess& process,
                                                   std::uint64_t limit) {
    Excerpt<ReferencedBinary> binaries;
    const auto visit = [&](std::uint64_t, std::uint64_t binary) {
        ++binaries.total;
        if (limit != 0 && binaries.items.size() >= limit) {
            return;
        }
        ReferencedBinary line{binary, std::nullopt, std::nullopt};
        if (const auto info = process.context().binary_at(binary)) {
            line.size_bytes = info->size_bytes;
            line.references = info->references;
        }
        binaries.items.push_back(line);
    };
    RETURN_IF_ERROR(visit_off_heap_binaries(dump, process, OffHeapLists::kProcessInfo, visit));
    return binaries;
}

}  // namespace beamdump::query
