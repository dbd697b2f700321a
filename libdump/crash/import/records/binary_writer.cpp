#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/binary_text.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/import/records/binary_writer.h>
#include <libdump/crash/text/byte_parser.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace beamdump::crash {
bool BinaryWriter::want(std::uint64_t address) {
    if (dump_.binary(address) == nullptr) {
        return false;
    }
    if (!written_.contains(address)) {
        wanted_.insert(address);
    }
    return true;
}

Result<void> BinaryWriter::flush() {
    for (const auto address : wanted_) {
        RETURN_IF_ERROR(write(address, *dump_.binary(address)));
    }
    wanted_.clear();
    return flush_page();
}

Result<void> BinaryWriter::write(std::uint64_t address, const Span& lines) {
    TextCursor text(dump_.text(), lines.begin, lines.end);
    const auto size = take_binary_size(text);
    records::Binary binary;
    binary.set_address(address);
    if (size) {
        binary.set_data_address(binary_data_address(address));
        binary.set_size_bytes(*size);
        ByteParser bytes(text, format_.base64);
        if (*size <= limits::kInlineBytes) {
            auto& prefix = *binary.mutable_prefix();
            prefix.resize(*size);
            prefix.resize(
                bytes.read({reinterpret_cast<std::uint8_t*>(prefix.data()), prefix.size()}));
            captured_bytes_ += prefix.size();
        } else {
            format::RegionHeader header;
            header.owner_kind = format::OwnerKind::kBinary;
            header.region_kind = format::RegionKind::kBinaryContent;
            header.unit = format::RegionUnit::kBytes;
            header.word_bytes = 1;
            header.owner_id = address;
            header.address = binary_data_address(address);
            // A truncated section has only the bytes of its text.
            header.total = std::min(*size, lines.end - lines.begin);
            auto placed = writer_.append_region(
                header, [&bytes](std::uint64_t /*first*/, std::span<std::byte> into) {
                    return Result<std::uint64_t>(
                        bytes.read({reinterpret_cast<std::uint8_t*>(into.data()), into.size()}));
                });
            if (!placed) {
                return std::unexpected(placed.error());
            }
            binary.set_content_offset(placed->offset);
            binary.set_content_bytes(placed->here);
            binary.set_content_striped(placed->striped);
            captured_bytes_ += placed->here;
        }
        bytes_ += *size;
    }
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    page_bytes_ += binary.prefix().size() + limits::kEntryBytes;
    *page_.add_binary() = std::move(binary);
    return page_bytes_ < limits::kPackBytes ? Result<void>() : flush_page();
}

Result<void> BinaryWriter::flush_page() {
    if (page_.binary_size() == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kBinaries, page_));
    for (const auto& binary : page_.binary()) {
        written_.emplace(binary.address(), offset);
    }
    page_.Clear();
    page_bytes_ = 0;
    return {};
}

Result<void> BinaryWriter::finish(records::Trailer& trailer, Requested requested) {
    RETURN_IF_ERROR(flush());
    if (requested != Requested::kAll) {
        RETURN_IF_ERROR(count(requested == Requested::kNone));
    }
    auto& totals = *trailer.mutable_totals();
    if (dump_.has_all_binaries()) {
        totals.set_binaries(dump_.binaries().size());
        totals.set_binary_bytes(bytes_);
    }
    const bool tells = dump_.has_all_binaries() || !dump_.binaries().empty();
    if (requested != Requested::kSome && tells) {
        totals.set_binary_bytes_captured(captured_bytes_);
    }
    return finish_index(trailer);
}

Result<void> BinaryWriter::finish_index(records::Trailer& trailer) {
    RETURN_IF_ERROR(flush());
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> entries(written_.begin(),
                                                                       written_.end());
    return append_binary_index(writer_, 0, entries, *trailer.mutable_binary_pages());
}

/// The totals as if all were written: a damaged text has fewer of a Binary's bytes than characters.
Result<void> BinaryWriter::count(bool contents) {
    bytes_ = 0;
    captured_bytes_ = 0;
    std::optional<std::uint64_t> last;
    for (const auto& [address, lines] : dump_.binaries()) {
        if (address == last) {
            continue;  // of two with one address, the first is the one that want() finds
        }
        last = address;
        ASSIGN_OR_RETURN(const auto binary, find_binary_text(dump_.text(), lines));
        if (!binary) {
            continue;
        }
        bytes_ += binary->size_bytes;
        if (contents) {
            ASSIGN_OR_RETURN(const auto here, bytes_in_text(dump_.text(), *binary, format_.base64));
            captured_bytes_ += here;
        }
    }
    return {};
}

}  // namespace beamdump::crash
