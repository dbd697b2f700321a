#include <libdump/base/bytes.h>
#include <libdump/coding/record_coding.h>
#include <libdump/coding/word_blocks.h>
#include <libdump/format/format.h>

#include <utility>

namespace beamdump::coding {
namespace {

using format::Coding;
using format::RecordHeader;
using format::RecordKind;

/// Its own inverse for regions.
void swap_distances_of(const WordBlock& block) {
    if (has_distances(*block.region)) {
        swap_distances(block.words, *block.region, block.first_address);
    }
}

void encode_words(const WordBlock& block) {
    block.region ? swap_distances_of(block) : to_differences(block.words);
}

void decode_words(const WordBlock& block) {
    block.region ? swap_distances_of(block) : from_differences(block.words);
}

bool encode_record(RecordHeader& header, std::span<std::byte> payload,
                   std::span<std::byte> scratch) {
    const auto kind = static_cast<RecordKind>(header.kind);
    std::size_t words = 0;
    if (!visit_blocks(kind, payload,
                      [&words](const auto& block) { words += block.words.size() / kWordBytes; }) ||
        words == 0) {
        return false;
    }
    std::size_t texts = 0;
    visit_blocks(kind, payload, [&texts](const WordBlock& block) {
        encode_words(block);
        texts += words_like_text(block.words);
    });
    const bool planes = planes_pay(texts, words);
    if (planes) {
        visit_blocks(kind, payload,
                     [scratch](const WordBlock& block) { to_planes(block.words, scratch); });
    }
    header.kind |= format::kCodedKind;
    header.flags = std::to_underlying(planes ? Coding::kDistancesInPlanes : Coding::kDistances);
    return true;
}

bool decode_record(RecordHeader& header, std::span<std::byte> payload,
                   std::span<std::byte> scratch) {
    header.kind &= static_cast<std::uint16_t>(~format::kCodedKind);
    const auto coding = static_cast<Coding>(std::exchange(header.flags, std::uint16_t{0}));
    const bool planes = coding == Coding::kDistancesInPlanes;
    if (!planes && coding != Coding::kDistances) {
        return false;
    }
    bool coded = false;
    const bool whole = visit_blocks(static_cast<RecordKind>(header.kind), payload,
                                    [scratch, planes, &coded](const WordBlock& block) {
                                        if (planes) {
                                            from_planes(block.words, scratch);
                                        }
                                        decode_words(block);
                                        coded = true;
                                    });
    return whole && coded;
}

}  // namespace

void encode_records(std::span<std::byte> content, std::span<std::byte> scratch) {
    for (std::size_t at = 0; at < content.size();) {
        auto header = load<RecordHeader>(content, at);
        if (!header || format::record_bytes(header->payload_bytes) > content.size() - at) {
            return;
        }
        if (encode_record(*header, content.subspan(at + sizeof(*header), header->payload_bytes),
                          scratch)) {
            store(content, at, *header);
        }
        at += format::record_bytes(header->payload_bytes);
    }
}

bool decode_records(std::span<std::byte> content, std::span<std::byte> scratch) {
    for (std::size_t at = 0; at < content.size();) {
        auto header = load<RecordHeader>(content, at);
        if (!header || format::record_bytes(header->payload_bytes) > content.size() - at) {
            return false;
        }
        if ((header->kind & ~(format::kCodedKind - 1U)) == format::kCodedKind) {
            if (!decode_record(*header,
                               content.subspan(at + sizeof(*header), header->payload_bytes),
                               scratch)) {
                return false;
            }
            store(content, at, *header);
        }
        at += format::record_bytes(header->payload_bytes);
    }
    return true;
}

}  // namespace beamdump::coding
