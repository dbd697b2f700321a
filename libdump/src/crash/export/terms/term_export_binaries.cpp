// Binaries and parts of them, as lines of their own.
#include "crash/export/terms/term_export.h"

#include <algorithm>
#include <array>

namespace beamdump::crash {

namespace {

/// A bit string of more bytes is written by address, as in the VM: from its first byte to its last
/// whole one.
constexpr std::uint64_t kMaxBytesInPlace = std::uint64_t{64} << 10U;
constexpr std::size_t kBlock = std::size_t{3} << 10U;

}  // namespace

bool TermExport::binary(const HeapObject& object) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
        BinaryContent::Status::kFound) {
        return false;
    }
    const bool short_and_here = content.is_whole() && content.whole_bytes() <= kMaxBytesInPlace;
    if (content.trailing_bits() != 0 && short_and_here) {
        return external(object);
    }
    if (const auto original = original_of(object)) {
        part(object, *original);
        return true;
    }
    begin(object);
    if (content.binary() == 0 || (content.bit_offset() != 0 && short_and_here)) {
        bytes(content);
        return true;
    }
    // The size must be that of the kind: readers of the text rely on it.
    out_.put(object.kind == BoxedKind::kSubBinary ? "Ys" : "Yc");
    out_.hex(content.binary());
    out_.put(':');
    out_.hex(content.first_byte());
    out_.put(':');
    out_.hex(content.whole_bytes());
    out_.put('\n');
    return true;
}

std::optional<std::uint64_t> TermExport::original_of(const HeapObject& object) {
    const bool bits = object.kind == BoxedKind::kSubBits;
    const auto slot = bits ? otp27::kSubOriginal : otp25::kSubOriginal;
    std::uint64_t word = 0;
    std::uint64_t header = 0;
    if (!node_.of_crash_dump || object.is_cell || (!bits && object.kind != BoxedKind::kSubBinary) ||
        reader_.read(object.address + slot * kWordBytes, word) != WordStatus::kHere ||
        reader_.read(pointer_of(word), header) != WordStatus::kHere ||
        boxed_kind(scheme_, header) != BoxedKind::kHeapBinary) {
        return std::nullopt;
    }
    return pointer_of(word);
}

/// Part of a binary on the heap, as the VM prints it: by that one's address.
void TermExport::part(const HeapObject& object, std::uint64_t original) {
    constexpr std::uint64_t kBits = 8;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    if (object.kind == BoxedKind::kSubBits) {
        std::uint64_t end = 0;
        reader_.read(object.address + otp27::kSubStart * kWordBytes, offset);
        reader_.read(object.address + otp27::kSubEnd * kWordBytes, end);
        size = (end - offset) / kBits;
        offset /= kBits;
    } else {
        reader_.read(object.address + otp25::kSubOffset * kWordBytes, offset);
        reader_.read(object.address + otp25::kBinarySize * kWordBytes, size);
    }
    begin(object);
    out_.put("Ys");
    out_.hex(node_address(original));
    out_.put(':');
    out_.hex(offset);
    out_.put(':');
    out_.hex(size);
    out_.put('\n');
}

void TermExport::bytes(const BinaryContent& content) {
    out_.put("Yh");
    out_.hex(content.whole_bytes());
    out_.put(':');
    std::array<std::uint8_t, kBlock> block{};
    Base64 base64(out_);
    for (std::uint64_t at = 0; at < content.whole_bytes();) {
        const std::size_t got = content.octets(reader_, at, block);
        if (got == 0) {
            break;
        }
        base64.add(std::span(block).first(got));
        at += got;
    }
    base64.finish();
    out_.put('\n');
}

}  // namespace beamdump::crash
