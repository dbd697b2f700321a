#include <libdump/base/bytes.h>
#include <libdump/coding/word_blocks.h>
#include <libdump/format/wire.h>

#include <algorithm>
#include <initializer_list>

namespace beamdump::coding {
namespace {

using format::RecordKind;

constexpr std::size_t kLeastBytes = 16 * kWordBytes;

// Numbers of fields in code_records.proto and process_records.proto.
constexpr std::uint32_t kFunctionsStartAddress = 2;
constexpr std::uint32_t kLinesAddress = 2;
constexpr std::uint32_t kExportsAddress = 1;
constexpr std::uint32_t kExportsCodeAddress = 5;
constexpr std::uint32_t kPackedRegionsRegion = 1;
constexpr std::uint32_t kPackedRegionAddress = 2;
constexpr std::uint32_t kPackedRegionWords = 4;
constexpr std::uint32_t kMessagesEntry = 2;
constexpr std::uint32_t kMessageFragment = 7;

bool are_words(std::span<const std::byte> content) {
    return content.size() >= kLeastBytes && content.size() % kWordBytes == 0;
}

/// Whether the numbers of a region of words of 8 bytes add up.
bool consistent(const format::RegionHeader& header, std::size_t payload_bytes) {
    constexpr std::uint64_t kMostWords = 1ULL << 56U;
    return header.total <= kMostWords && header.first <= header.total &&
           header.count <= header.total - header.first &&
           header.count <= (payload_bytes - sizeof(header)) / kWordBytes;
}

bool is_bytes(const WireField& field, std::uint32_t number) {
    return field.number == number && field.type == WireField::Type::kBytes;
}

/// Calls `visit` for each field. False where the message is malformed, and where `visit` says so.
template <typename Visit>
bool each_field(std::span<std::byte> message, const Visit& visit) {
    for (WireReader reader(message);;) {
        const auto field = reader.next();
        if (!field || (*field && !visit(**field))) {
            return false;
        }
        if (!*field) {
            return true;
        }
    }
}

class Walk {
  public:
    explicit Walk(const VisitBlock& visit) : visit_(visit) {}

    bool region(std::span<std::byte> payload) {
        const auto header = load<format::RegionHeader>(payload);
        if (!header) {
            return false;
        }
        if (header->unit != format::RegionUnit::kWords || header->word_bytes != kWordBytes) {
            return true;
        }
        if (!consistent(*header, payload.size())) {
            return false;
        }
        const auto words = payload.subspan(sizeof(*header), header->count * kWordBytes);
        if (are_words(words)) {
            visit_({.words = words,
                    .region =
                        RegionRange{.begin = header->address, .bytes = header->total * kWordBytes},
                    .first_address = header->address + header->first * kWordBytes});
        }
        return true;
    }

    bool columns(std::span<std::byte> message, std::initializer_list<std::uint32_t> numbers) {
        return each_field(message, [&](const WireField& field) {
            if (field.type == WireField::Type::kBytes && are_words(field.value) &&
                std::ranges::find(numbers, field.number) != numbers.end()) {
                visit_({.words = field.value, .region = std::nullopt, .first_address = 0});
            }
            return true;
        });
    }

    bool packed_regions(std::span<std::byte> message, std::uint32_t number) {
        return each_field(message, [&](const WireField& field) {
            return !is_bytes(field, number) || packed_region(field.value);
        });
    }

    bool messages(std::span<std::byte> message) {
        return each_field(message, [&](const WireField& field) {
            return !is_bytes(field, kMessagesEntry) ||
                   packed_regions(field.value, kMessageFragment);
        });
    }

  private:
    bool packed_region(std::span<std::byte> message) {
        std::optional<std::uint64_t> address;
        return each_field(message, [&](const WireField& field) {
            if (field.number == kPackedRegionAddress && field.type == WireField::Type::kVarint) {
                address = varint_of(field.value);
            } else if (is_bytes(field, kPackedRegionWords) && address && are_words(field.value)) {
                visit_({.words = field.value,
                        .region = RegionRange{.begin = *address, .bytes = field.value.size()},
                        .first_address = *address});
            }
            return true;
        });
    }

    const VisitBlock& visit_;
};

}  // namespace

bool visit_blocks(RecordKind kind, std::span<std::byte> payload, const VisitBlock& visit) {
    Walk walk(visit);
    switch (kind) {
        case RecordKind::kRegion:
            return walk.region(payload);
        case RecordKind::kFunctions:
            return walk.columns(payload, {kFunctionsStartAddress});
        case RecordKind::kLines:
            return walk.columns(payload, {kLinesAddress});
        case RecordKind::kExports:
            return walk.columns(payload, {kExportsAddress, kExportsCodeAddress});
        case RecordKind::kPackedRegions:
            return walk.packed_regions(payload, kPackedRegionsRegion);
        case RecordKind::kMessages:
            return walk.messages(payload);
        default:
            return true;
    }
}

}  // namespace beamdump::coding
