// Binaries and parts of them, as lines of their own.
#include <libdump/crash/export/terms/term_export.h>

#include <utility>
#include <vector>

namespace beamdump::crash {

namespace {

/// A bit string of more bytes is written by address, as in the VM: from its first byte to its last
/// whole one.
constexpr std::uint64_t kMaxBytesInPlace = std::uint64_t{64} << 10U;

}  // namespace

bool TermExport::binary(const HeapObject& object) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
        BinaryContent::Status::kFound) {
        return false;
    }
    if (const auto original = original_of(object)) {
        part(object, *original, content);
        return true;
    }
    if (object.kind == BoxedKind::kHeapBinary && content.trailing_bits() == 0) {
        return bytes(object, content);
    }
    const bool in_bytes = content.bit_offset() == 0 && content.trailing_bits() == 0;
    const bool short_and_here = content.is_whole() && content.whole_bytes() <= kMaxBytesInPlace;
    if (content.binary() == 0 || (!in_bytes && short_and_here)) {
        return external(object);
    }
    begin(object);
    // The words must be those of the kind, or fewer: readers of the text rely on it. A match
    // context of OTP 25 has five at least, as a sub binary has; a ProcBin has six.
    const bool has_five =
        object.kind == BoxedKind::kSubBinary || object.kind == BoxedKind::kMatchContext;
    out_.put(has_five ? "Ys" : "Yc");
    out_.hex(content.binary());
    out_.put(':');
    out_.hex(content.first_byte());
    out_.put(':');
    out_.hex(content.whole_bytes());
    out_.put('\n');
    return true;
}

std::optional<std::uint64_t> TermExport::original_of(const HeapObject& object) {
    if (object.is_cell ||
        (object.kind != BoxedKind::kSubBinary && object.kind != BoxedKind::kSubBits &&
         object.kind != BoxedKind::kMatchContext)) {
        return std::nullopt;
    }
    const auto slot = object.kind == BoxedKind::kSubBinary ? otp25::kSubOriginal
                      : object.kind == BoxedKind::kSubBits ? otp27::kSubOriginal
                                                           : otp25::kMatchOriginal;
    std::uint64_t word = 0;
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
            BinaryContent::Status::kFound ||
        content.binary() != 0 || content.bit_offset() != 0 || content.trailing_bits() != 0 ||
        reader_.read(object.address + slot * kWordBytes, word) != WordStatus::kHere) {
        return std::nullopt;
    }
    const auto original = boxed_object(scheme_, reader_, pointer_of(word));
    BinaryContent whole;
    if (!original || original->kind != BoxedKind::kHeapBinary ||
        BinaryContent::resolve(scheme_, reader_, original->address, whole) !=
            BinaryContent::Status::kFound ||
        !whole_bytes_of(whole)) {
        return std::nullopt;
    }
    return original->address;
}

/// Part of a binary on the heap, as the VM prints it: by that one's address.
void TermExport::part(const HeapObject& object, std::uint64_t original,
                      const BinaryContent& content) {
    begin(object);
    out_.put("Ys");
    out_.hex(node_address(original));
    out_.put(':');
    out_.hex(content.heap_address() - original - otp25::kHeapBinaryData * kWordBytes);
    out_.put(':');
    out_.hex(content.whole_bytes());
    out_.put('\n');
}

/// The bytes of a binary on the heap; nullopt unless all are in the dump.
std::optional<std::vector<std::uint8_t>> TermExport::whole_bytes_of(const BinaryContent& content) {
    if (content.whole_bytes() > kMaxBytesInPlace) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> bytes(content.whole_bytes());
    return content.octets(reader_, 0, bytes) == bytes.size() ? std::optional(std::move(bytes))
                                                             : std::nullopt;
}

bool TermExport::bytes(const HeapObject& object, const BinaryContent& content) {
    const auto whole = whole_bytes_of(content);
    if (!whole) {
        return false;
    }
    begin(object);
    out_.put("Yh");
    out_.hex(whole->size());
    out_.put(':');
    Base64 base64(out_);
    base64.add(*whole);
    base64.finish();
    out_.put('\n');
    return true;
}

}  // namespace beamdump::crash
