#include "capture/mapping_kinds.h"

namespace beamdump::capture {
namespace {

using target::Mapping;

/// HEAP_MAX_SIZE in malloc/arena.c of glibc: the alignment of the arenas of threads.
constexpr std::uint64_t kArenaBytes = 64U << 20U;
/// The guard before a thread's stack: one page, or more if its creator asked for more.
constexpr std::uint64_t kMaxGuardBytes = 64U << 10U;

bool is_closed(const Mapping& mapping) {
    return mapping.path.empty() && !mapping.readable && !mapping.writable && !mapping.executable;
}

bool follows(const Mapping* before, const Mapping& mapping) {
    return before != nullptr && before->range.end == mapping.range.begin;
}

/// An arena reserves 64 MiB; only its first part is accessible.
bool is_arena(const Mapping& mapping, const Mapping* after) {
    const auto end = mapping.range.begin + kArenaBytes;
    const bool rest_closed = after != nullptr && after->range.begin == mapping.range.end &&
                             is_closed(*after) && after->range.end >= end;
    return mapping.range.begin % kArenaBytes == 0 && rest_closed;
}

std::string_view kind_of_anonymous(const Mapping& mapping, const Mapping* before,
                                   std::string_view kind_before, const Mapping* after) {
    if (mapping.executable) {
        return kJitCode;
    }
    // Uninitialised data (.bss) follows the mapping of the file.
    const bool of_file = kind_before == kVmFile || kind_before == kLibrary;
    if (of_file && follows(before, mapping) && before->writable && !before->path.empty()) {
        return kind_before;
    }
    if (mapping.writable && is_arena(mapping, after)) {
        return kMallocArena;
    }
    const bool guarded =
        follows(before, mapping) && is_closed(*before) && before->range.bytes() <= kMaxGuardBytes;
    return mapping.writable && guarded ? kThreadStack : kAnonymous;
}

}  // namespace

std::vector<std::string_view> mapping_kinds(std::span<const Mapping> mappings,
                                            const MappingContext& context) {
    std::vector<std::string_view> kinds;
    for (std::size_t index = 0; index < mappings.size(); ++index) {
        const auto& mapping = mappings[index];
        const std::string_view path = mapping.path;
        if (context.literals.contains(mapping.range.begin)) {
            kinds.push_back(kLiterals);
        } else if (path == "[heap]") {
            kinds.push_back(kHeapMapping);
        } else if (path == "[stack]") {
            kinds.push_back(kThreadStack);
        } else if (path.starts_with('[')) {
            kinds.push_back(path.starts_with("[anon") ? kAnonymous : kKernel);
        } else if (path.starts_with("/memfd:vmem")) {
            kinds.push_back(kJitCode);
        } else if (path == context.executable) {
            kinds.push_back(kVmFile);
        } else if (!path.empty()) {
            kinds.push_back(kLibrary);
        } else {
            const bool first = index == 0;
            kinds.push_back(
                kind_of_anonymous(mapping, first ? nullptr : &mappings[index - 1],
                                  first ? std::string_view() : kinds.back(),
                                  index + 1 == mappings.size() ? nullptr : &mappings[index + 1]));
        }
    }
    return kinds;
}

}  // namespace beamdump::capture
