#include "open_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace beamdump::test {
namespace {

std::string content(BinaryIndex& index, const records::Binary& binary, std::uint64_t from,
                    std::size_t size) {
    std::string text(size, '?');
    text.resize(expect_value(
        index.bytes(binary, from, std::as_writable_bytes(std::span(text.data(), text.size())))));
    return text;
}

TEST(BinaryIndex, FindsByAddress) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    BinaryIndex& index = opened.dump().binaries();
    const auto binary = expect_value(index.at(kBinaryBase + 64));
    EXPECT_EQ(binary->size_bytes(), 101U);
    EXPECT_EQ(captured_bytes(*binary), 8U);
    EXPECT_EQ(content(index, *binary, 0, 100), "prefix 1");
    EXPECT_EQ(content(index, *binary, 7, 100), "1");
    EXPECT_EQ(content(index, *binary, 8, 100), "");
}

TEST(BinaryIndex, GivesThePartsBehindTheFirstBytes) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    BinaryIndex& index = opened.dump().binaries();
    records::Binary binary;
    binary.set_size_bytes(100);
    binary.set_prefix("01234");
    for (const auto& [first, text] : {std::pair(5, "56"), std::pair(50, "fifty")}) {
        auto& part = *binary.add_part();
        part.set_first_byte(static_cast<std::uint64_t>(first));
        part.set_content(text);
    }
    EXPECT_EQ(captured_bytes(binary), 5U);
    EXPECT_EQ(captured_part_bytes(binary), 7U);
    EXPECT_EQ(content(index, binary, 50, 100), "fifty");
    EXPECT_EQ(content(index, binary, 52, 2), "ft");
    EXPECT_EQ(content(index, binary, 55, 1), "");
    EXPECT_EQ(content(index, binary, 49, 3), "");
    EXPECT_EQ(content(index, binary, 6, 3), "6");
}

TEST(BinaryInfo, CapturedBytesGoOnInAPartThatFollows) {
    BinaryInfo info;
    info.captured_bytes = 5;
    info.parts = {{50, 5}, {5, 2}, {7, 3}};
    EXPECT_EQ(info.captured_until(0), 10U);
    EXPECT_EQ(info.captured_until(4), 10U);
    EXPECT_EQ(info.captured_until(9), 10U);
    EXPECT_EQ(info.captured_until(10), 10U) << "nothing";
    EXPECT_EQ(info.captured_until(52), 55U);
}

TEST(BinaryIndex, UnknownAddressIsAbsent) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    for (const std::uint64_t address : {std::uint64_t{0}, kBinaryBase + 8, kBinaryBase + 4096}) {
        const auto binary = opened.dump().binaries().at(address);
        ASSERT_FALSE(binary);
        EXPECT_EQ(binary.error().code, ErrorCode::kAbsent);
    }
}

TEST(BinaryIndex, TheLastAtAnAddressBeforeTheRunsEndCounts) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    std::vector<std::uint64_t> offsets;
    for (std::uint32_t run = 0; run < 3; ++run) {
        records::Binaries binaries;
        auto* binary = binaries.add_binary();
        binary->set_address(kBinaryBase);
        binary->set_size_bytes(run + 1);
        binary->set_prefix(std::string(run + 1, 'x'));
        offsets.push_back(
            expect_value(builder.writer().append(format::RecordKind::kBinaries, binaries)));
    }
    // The runs of the index in any order.
    for (const std::uint32_t run : {1U, 2U, 0U}) {
        records::BinaryIndexPage page;
        page.set_run(run);
        page.add_address(kBinaryBase);
        page.add_record_offset(offsets[run]);
        auto* ref = builder.trailer().add_binary_pages();
        ref->set_run(run);
        ref->set_lowest_address(kBinaryBase);
        ref->set_highest_address(kBinaryBase);
        ref->set_count(1);
        ref->set_offset(
            expect_value(builder.writer().append(format::RecordKind::kBinaryIndexPage, page)));
    }
    OpenedBytes opened(builder.finish());
    BinaryIndex& index = opened.dump().binaries();
    const auto size = [&](std::uint64_t end) {
        return expect_value(index.at(kBinaryBase, end))->size_bytes();
    };
    EXPECT_EQ(size(offsets[1]), 1U);
    EXPECT_EQ(size(offsets[1] + 1), 2U);
    EXPECT_EQ(size(offsets[2] + 1), 3U);
    EXPECT_EQ(expect_value(index.at(kBinaryBase))->size_bytes(), 3U);
    EXPECT_EQ(size(0), 1U);  // none before: the first behind it
}

TEST(BinaryIndex, ReadsStripedContent) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    std::vector<std::uint64_t> words(4096);
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = i;
    }
    format::RegionHeader header;
    header.owner_kind = format::OwnerKind::kBinary;
    header.region_kind = format::RegionKind::kBinaryContent;
    header.unit = format::RegionUnit::kBytes;
    header.owner_id = kBinaryBase;
    header.address = kBinaryBase + 24;
    header.total = words.size() * 8;
    const auto bytes = std::as_bytes(std::span(words));
    const auto placed = expect_value(builder.writer().append_region(
        header, [&bytes](std::uint64_t first, std::span<std::byte> into) -> Result<std::uint64_t> {
            const std::size_t count = std::min<std::size_t>(into.size(), bytes.size() - first);
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), count, into.begin());
            return count;
        }));
    ASSERT_TRUE(placed.striped);
    records::Binary binary;
    binary.set_address(kBinaryBase);
    binary.set_size_bytes(words.size() * 8);
    binary.set_content_offset(placed.offset);
    binary.set_content_bytes(placed.here);
    binary.set_content_striped(placed.striped);
    OpenedBytes opened(builder.finish());

    std::vector<std::byte> read(bytes.size());
    EXPECT_EQ(expect_value(opened.dump().binaries().bytes(binary, 0, read)), bytes.size());
    EXPECT_TRUE(std::ranges::equal(read, bytes));
    std::array<std::byte, 16> piece{};
    EXPECT_EQ(expect_value(opened.dump().binaries().bytes(binary, 3981, piece)), piece.size());
    EXPECT_TRUE(std::ranges::equal(piece, bytes.subspan(3981, piece.size())));
}

}  // namespace
}  // namespace beamdump::test
