#include "code_records.pb.h"
#include "process_records.pb.h"

#include <libdump/base/bytes.h>
#include <libdump/coding/record_coding.h>
#include <libdump/format/format.h>

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace beamdump::coding {
namespace {

using format::Coding;
using format::RecordHeader;
using format::RecordKind;
using format::RegionHeader;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kRegion = 0x7F12'3456'7000;
/// Half of all words; more look like text than planes are good for.
constexpr std::uint64_t kText = 0x6F77206F6C6C6568;

void add(Bytes& content, RecordKind kind, std::span<const std::byte> payload) {
    const auto at = content.size();
    const RecordHeader header{.kind = std::to_underlying(kind),
                              .flags = 0,
                              .payload_bytes = static_cast<std::uint32_t>(payload.size())};
    content.resize(at + format::record_bytes(payload.size()));
    store(content, at, header);
    std::ranges::copy(payload, content.begin() + static_cast<std::ptrdiff_t>(at + sizeof(header)));
}

Bytes region(RegionHeader header, const std::vector<std::uint64_t>& words) {
    header.count = words.size();
    Bytes payload(sizeof(header) + words.size() * 8);
    store(payload, 0, header);
    std::memcpy(payload.data() + sizeof(header), words.data(), words.size() * 8);
    return payload;
}

/// Cells of a list that lies in one piece.
std::vector<std::uint64_t> list(std::uint64_t address, std::size_t cells) {
    std::vector<std::uint64_t> words;
    for (std::size_t i = 0; i < cells; ++i) {
        words.push_back(i << 4U | 15U);
        words.push_back(address + (i + 1) * 16 + 1);
    }
    words.back() = 0x3B;
    return words;
}

std::vector<std::uint64_t> texts(std::uint64_t address, std::size_t cells) {
    auto words = list(address, cells);
    for (std::size_t i = 0; i < words.size(); i += 2) {
        words[i] = kText;
    }
    return words;
}

void add_message(Bytes& content, RecordKind kind, const google::protobuf::MessageLite& message) {
    const auto text = message.SerializeAsString();
    add(content, kind, std::as_bytes(std::span(text)));
}

void fill(records::PackedRegion& packed, std::uint64_t address,
          const std::vector<std::uint64_t>& words) {
    packed.set_kind(5);
    packed.set_address(address);
    packed.set_total_words(words.size());
    packed.mutable_words()->Add(words.begin(), words.end());
    packed.set_off_heap_first_address(7);
}

Bytes encoded(Bytes content) {
    Bytes scratch(content.size());
    encode_records(content, scratch);
    return content;
}

bool decode(Bytes& content) {
    Bytes scratch(content.size());
    return decode_records(content, scratch);
}

RecordHeader first_header(const Bytes& content) {
    return load_known<RecordHeader>(content);
}

void expect_coded(const Bytes& content, RecordKind kind, Coding coding) {
    auto copy = encoded(content);
    EXPECT_EQ(first_header(copy).kind, std::to_underlying(kind) | format::kCodedKind);
    EXPECT_EQ(first_header(copy).flags, std::to_underlying(coding));
    EXPECT_NE(copy, content);
    EXPECT_TRUE(decode(copy));
    EXPECT_EQ(copy, content);
}

void expect_plain(const Bytes& content) {
    auto copy = encoded(content);
    EXPECT_EQ(copy, content);
    EXPECT_TRUE(decode(copy));
    EXPECT_EQ(copy, content);
}

TEST(RecordCoding, WordsOfARegionAreCodedAndBack) {
    Bytes content;
    add(content, RecordKind::kRegion,
        region({.address = kRegion, .total = 200}, list(kRegion, 100)));
    expect_coded(content, RecordKind::kRegion, Coding::kDistancesInPlanes);
}

TEST(RecordCoding, APieceOfAStripedRegionKnowsItsPlace) {
    Bytes content;
    add(content, RecordKind::kRegion,
        region({.address = kRegion, .total = 1U << 20U, .first = 5000},
               list(kRegion + 5000U * kWord, 100)));
    expect_coded(content, RecordKind::kRegion, Coding::kDistancesInPlanes);
    const auto whole = encoded(content);
    // Each tail is the same distance.
    Bytes alone;
    add(alone, RecordKind::kRegion,
        region({.address = kRegion + 5000U * kWord, .total = 200},
               list(kRegion + 5000U * kWord, 100)));
    const auto data = sizeof(RecordHeader) + sizeof(RegionHeader);
    EXPECT_TRUE(std::equal(whole.begin() + data, whole.end(), encoded(alone).begin() + data));
}

TEST(RecordCoding, TextsStayTogether) {
    Bytes content;
    add(content, RecordKind::kRegion,
        region({.address = kRegion, .total = 200}, texts(kRegion, 100)));
    expect_coded(content, RecordKind::kRegion, Coding::kDistances);
}

TEST(RecordCoding, OtherRecordsStayAsTheyAre) {
    Bytes content;
    add(content, RecordKind::kRegion, region({.address = kRegion, .total = 14}, list(kRegion, 7)));
    expect_plain(content);
    content.clear();
    add(content, RecordKind::kRegion,
        region({.unit = format::RegionUnit::kBytes, .address = kRegion, .total = 200},
               list(kRegion, 12)));
    expect_plain(content);
    content.clear();
    add(content, RecordKind::kRegion,
        region({.word_bytes = 4, .address = kRegion, .total = 200}, list(kRegion, 12)));
    expect_plain(content);
    content.clear();
    add(content, RecordKind::kAtoms, Bytes(300, std::byte{1}));
    add(content, RecordKind::kPadding, Bytes(11));
    expect_plain(content);
}

TEST(RecordCoding, RegionsWhoseNumbersDoNotAddUpStayAsTheyAre) {
    for (const auto& header : {RegionHeader{.address = kRegion, .total = 10},
                               RegionHeader{.address = kRegion, .total = 200, .first = 190},
                               RegionHeader{.address = kRegion, .total = ~std::uint64_t{0}}}) {
        Bytes content;
        add(content, RecordKind::kRegion, region(header, list(kRegion, 100)));
        expect_plain(content);
    }
}

TEST(RecordCoding, RegionsBeyondUserMemoryHavePlanesOnly) {
    Bytes content;
    const std::uint64_t address = 0xFFFF'8000'0000'0000;
    add(content, RecordKind::kRegion,
        region({.address = address, .total = 200}, list(address, 100)));
    expect_coded(content, RecordKind::kRegion, Coding::kDistancesInPlanes);
}

TEST(RecordCoding, PackedRegionsAndMessages) {
    records::PackedRegions packs;
    fill(*packs.add_region(), kRegion, list(kRegion, 50));
    fill(*packs.add_region(), kRegion + 4096, list(kRegion + 4096, 3));
    Bytes content;
    add_message(content, RecordKind::kPackedRegions, packs);
    expect_coded(content, RecordKind::kPackedRegions, Coding::kDistancesInPlanes);

    records::Messages messages;
    messages.set_first_index(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
        auto& entry = *messages.add_entry();
        entry.set_term_word(kRegion + 1);
        fill(*entry.add_fragment(), kRegion + i * 4096, texts(kRegion + i * 4096, 40));
    }
    content.clear();
    add_message(content, RecordKind::kMessages, messages);
    expect_coded(content, RecordKind::kMessages, Coding::kDistances);
}

TEST(RecordCoding, ColumnsOfAddresses) {
    records::Lines lines;
    records::Functions functions;
    records::Exports exports;
    for (std::uint64_t i = 0; i < 100; ++i) {
        lines.add_address(kRegion + i * 12);
        lines.add_location(static_cast<std::uint32_t>(i));
        functions.add_start_address(kRegion + i * 40);
        functions.add_name_atom(7);
        exports.add_address(kRegion + i * 64);
        exports.add_code_address(kRegion - i * 64);
        exports.add_arity(1);
    }
    for (const auto& [kind, message] :
         {std::pair<RecordKind, const google::protobuf::MessageLite*>{RecordKind::kLines, &lines},
          {RecordKind::kFunctions, &functions},
          {RecordKind::kExports, &exports}}) {
        Bytes content;
        add_message(content, kind, *message);
        expect_coded(content, kind, Coding::kDistancesInPlanes);
    }
}

TEST(RecordCoding, SeveralRecordsInAFrame) {
    std::mt19937_64 chance(3);
    for (int turn = 0; turn < 200; ++turn) {
        Bytes content;
        for (auto records = chance() % 6; records > 0; --records) {
            const auto words = 2 * (1 + chance() % 60);
            const auto payload =
                region({.address = kRegion, .total = words},
                       chance() % 2 == 0 ? list(kRegion, words / 2) : texts(kRegion, words / 2));
            add(content, chance() % 3 == 0 ? RecordKind::kAtoms : RecordKind::kRegion, payload);
        }
        auto copy = encoded(content);
        ASSERT_TRUE(decode(copy));
        EXPECT_EQ(copy, content);
    }
}

TEST(RecordCoding, InvalidCodingIsRefused) {
    Bytes content;
    add(content, RecordKind::kRegion,
        region({.address = kRegion, .total = 200}, list(kRegion, 100)));
    const auto good = encoded(content);
    const auto refused = [&](const auto& change) {
        auto copy = good;
        change(copy);
        return !decode(copy);
    };
    const auto header = [](auto change) {
        return [change](Bytes& bytes) {
            auto changed = first_header(bytes);
            change(changed);
            store(bytes, 0, changed);
        };
    };
    EXPECT_FALSE(refused([](Bytes&) {}));
    EXPECT_TRUE(refused(header([](auto& record) { record.flags = 0; })));
    EXPECT_TRUE(refused(header([](auto& record) { record.flags = 2; })));
    EXPECT_TRUE(refused(header([](auto& record) { record.flags = 5; })));
    EXPECT_TRUE(refused(header([](auto& record) { record.payload_bytes += 16; })));
    EXPECT_TRUE(refused(header([](auto& record) { record.payload_bytes = 20; })));
    EXPECT_TRUE(refused(header([](auto& record) {
        record.kind = std::to_underlying(RecordKind::kAtoms) | format::kCodedKind;
    })));
    EXPECT_TRUE(refused([](Bytes& bytes) { bytes.resize(bytes.size() - 8); }));
    EXPECT_TRUE(refused([](Bytes& bytes) {
        auto inner = load_known<RegionHeader>(bytes, sizeof(RecordHeader));
        inner.count = 1U << 20U;
        store(bytes, sizeof(RecordHeader), inner);
    }));
}

}  // namespace
}  // namespace beamdump::coding
