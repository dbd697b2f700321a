#include "query/process/process_binaries.h"

#include <array>

namespace beamdump::query {

namespace {

class Walk {
  public:
    Walk(OpenedProcess& process, std::uint64_t limit, Excerpt<ReferencedBinary>& into)
        : context_(process.context()),
          scheme_(process.scheme),
          limit_(limit),
          // A member of the list has at least three words, all of them captured.
          left_(process.run.end.words_captured() / 3 + 1),
          into_(into) {}

    /// An off-heap list (global.h, erl_off_heap_header): all members have the next one's address in
    /// the same field.
    void list(std::uint64_t address) {
        while (address != 0 && left_-- > 0) {
            std::array<std::uint64_t, otp25::kRefcWords> words{};
            const auto got = context_.words(address, words);
            if (!got || *got <= otp25::kRefcNext) {
                return;
            }
            if (boxed_kind(scheme_, words[0]) == BoxedKind::kRefcBinary &&
                *got > scheme_.refc_binary) {
                binary(words[scheme_.refc_binary]);
            }
            address = words[otp25::kRefcNext];
        }
    }

  private:
    void binary(std::uint64_t address) {
        ++into_.total;
        if (limit_ != 0 && into_.items.size() >= limit_) {
            return;
        }
        ReferencedBinary line{address, std::nullopt, std::nullopt};
        if (const auto info = context_.binary_at(address)) {
            line.size_bytes = info->size_bytes;
            line.references = info->references;
        }
        into_.items.push_back(line);
    }

    ProcessContext& context_;
    const TagScheme& scheme_;
    std::uint64_t limit_;
    std::uint64_t left_;
    Excerpt<ReferencedBinary>& into_;
};

}  // namespace

Result<Excerpt<ReferencedBinary>> process_binaries(Dump& dump, OpenedProcess& process,
                                                   std::uint64_t limit) {
    Excerpt<ReferencedBinary> binaries;
    Walk walk(process, limit, binaries);
    walk.list(process.run.process.off_heap_first_address());
    if (process.scheme.id != format::TermScheme::kOtp25) {
        // As process_info(binary) does from OTP 27 on (erl_bif_info.c).
        walk.list(process.run.process.writable_binaries_first_address());
    }
    for (const Region& region : process.run.directory.regions) {
        if (region.kind == format::RegionKind::kHeapFragment) {
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
            if (region.kind() == static_cast<std::uint32_t>(format::RegionKind::kHeapFragment)) {
                walk.list(region.off_heap_first_address());
            }
        }
    }
    return binaries;
}

}  // namespace beamdump::query
