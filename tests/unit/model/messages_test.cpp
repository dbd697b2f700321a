#include "open_bytes.h"

#include <libdump/model/external_message.h>
#include <libdump/model/messages.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::test {
namespace {

/// Ten entries in records of 3, 3, 3 and 1; their terms are their indexes.
ProcessRun run_of(DumpBuilder& builder) {
    ProcessRun run;
    for (std::uint64_t first = 0; first < 10; first += 3) {
        records::Messages messages;
        messages.set_first_index(first);
        for (auto index = first; index < std::min<std::uint64_t>(first + 3, 10); ++index) {
            auto* entry = messages.add_entry();
            entry->set_kind(records::MESSAGE_KIND_HEAP);
            entry->set_term_word(index);
        }
        run.directory.messages.push_back(
            {.offset = builder.append(format::RecordKind::kMessages, messages),
             .first_index = first,
             .count = static_cast<std::uint64_t>(messages.entry_size())});
    }
    return run;
}

DumpBuilder small_node() {
    DumpBuilder builder(small_frames());
    builder.add_node();
    builder.add_atoms(0, {"false", "true", "node@host", "other@host"});
    return builder;
}

TEST(MessageWalker, SeeksToAnyEntry) {
    auto builder = small_node();
    const auto run = run_of(builder);
    OpenedBytes opened(builder.finish());
    for (std::uint64_t index = 0; index < 10; ++index) {
        MessageWalker walker(opened.dump().reader(), run);
        walker.seek(index);
        for (auto expected = index; expected < 10; ++expected) {
            const auto* entry = expect_value(walker.next());
            ASSERT_NE(entry, nullptr);
            EXPECT_EQ(entry->term_word(), expected);
            EXPECT_EQ(walker.index(), expected);
        }
        EXPECT_EQ(expect_value(walker.next()), nullptr);
        EXPECT_EQ(walker.packs_read(), 4 - index / 3);
    }
    MessageWalker walker(opened.dump().reader(), run);
    walker.seek(10);
    EXPECT_EQ(expect_value(walker.next()), nullptr);
}

records::RegionRef add_bytes(DumpBuilder& builder, std::uint64_t address, const std::string& text,
                             std::uint64_t here) {
    const format::RegionHeader header{.owner_kind = format::OwnerKind::kProcess,
                                      .region_kind = format::RegionKind::kExternalData,
                                      .unit = format::RegionUnit::kBytes,
                                      .term_scheme = format::TermScheme::kOtp25,
                                      .owner_id = 1,
                                      .address = address,
                                      .total = text.size()};
    const auto placed = expect_value(builder.writer().append_region(
        header, [&](std::uint64_t first, std::span<std::byte> into) -> Result<std::uint64_t> {
            const auto count = std::min<std::uint64_t>(into.size(), here - std::min(here, first));
            std::memcpy(into.data(), text.data() + first, count);
            return count;
        }));
    records::RegionRef ref;
    ref.set_kind(static_cast<std::uint32_t>(format::RegionKind::kExternalData));
    ref.set_address(address);
    ref.set_total(text.size());
    ref.set_here(placed.here);
    ref.set_offset(placed.offset);
    ref.set_striped(placed.striped);
    return ref;
}

std::string read_all(ExternalMessage& message, std::size_t step) {
    std::string bytes;
    std::vector<std::uint8_t> block(step);
    for (;;) {
        const auto got = message.read(bytes.size(), block);
        if (got == 0) {
            return bytes;
        }
        bytes.append(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
    }
}

TEST(ExternalMessage, ReadsItsPartsAsOne) {
    auto builder = small_node();
    // The second part is striped over several frames of 4096 bytes.
    std::string second;
    for (int i = 0; i < 5000; ++i) {
        second += std::to_string(i);
    }
    records::External external;
    external.set_dist_flags(1);
    *external.add_part() = add_bytes(builder, 0x1003, "first ", 6);
    *external.add_part() = add_bytes(builder, 0x2001, second, second.size());
    *external.add_part() = add_bytes(builder, 0x9000, " last", 5);
    OpenedBytes opened(builder.finish());
    for (const std::size_t step : {1U, 7U, 4096U, 100'000U}) {
        auto message = expect_value(ExternalMessage::open(opened.dump(), external));
        EXPECT_EQ(message->size(), second.size() + 11);
        EXPECT_EQ(read_all(*message, step), "first " + second + " last");
    }
    auto message = expect_value(ExternalMessage::open(opened.dump(), external));
    EXPECT_FALSE(message->term().version_byte);
}

TEST(ExternalMessage, EndsWhereAPartIsNotInTheDump) {
    auto builder = small_node();
    records::External external;
    *external.add_part() = add_bytes(builder, 0x1000, "abcdef", 3);
    *external.add_part() = add_bytes(builder, 0x2000, "ghi", 3);
    OpenedBytes opened(builder.finish());
    auto message = expect_value(ExternalMessage::open(opened.dump(), external));
    EXPECT_EQ(message->size(), 9U);
    EXPECT_EQ(read_all(*message, 100), "abc");
    std::array<std::uint8_t, 8> block{};
    EXPECT_EQ(message->read(4, block), 0U);
    EXPECT_EQ(message->read(7, block), 2U);
    EXPECT_EQ(block[0], 'h');
    EXPECT_EQ(message->read(9, block), 0U);
    EXPECT_TRUE(message->term().version_byte);
}

TEST(ExternalMessage, RefusesPartsThatAreNoBytesOfIt) {
    OpenedBytes opened(small_node().finish());
    records::External external;
    external.add_part()->set_kind(static_cast<std::uint32_t>(format::RegionKind::kHeap));
    EXPECT_FALSE(ExternalMessage::open(opened.dump(), external));
    external.mutable_part(0)->set_kind(
        static_cast<std::uint32_t>(format::RegionKind::kExternalData));
    external.mutable_part(0)->set_here(5);
    EXPECT_FALSE(ExternalMessage::open(opened.dump(), external));
    external.mutable_part(0)->set_total(~std::uint64_t{0});
    *external.add_part() = external.part(0);
    EXPECT_FALSE(ExternalMessage::open(opened.dump(), external));
}

TEST(DumpNames, KnowsTheNodeAndItsAtoms) {
    OpenedBytes opened(small_node().finish());
    DumpNames names(opened.dump());
    EXPECT_TRUE(names.is_this_node("node@host"));
    EXPECT_FALSE(names.is_this_node("other@host"));
    EXPECT_EQ(names.atom(3), "other@host");
    EXPECT_EQ(names.atom_index("other@host"), 3U);
    EXPECT_EQ(names.atom_index("other@host"), 3U);
    EXPECT_FALSE(names.atom_index("no such atom"));
}

}  // namespace
}  // namespace beamdump::test
