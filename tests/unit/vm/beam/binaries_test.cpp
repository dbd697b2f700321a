#include "fake_vm/each_layout.h"

#include <libvm/beam/processes/messages.h>
#include <libvm/beam/processes/off_heap.h>
#include <libvm/beam/tables/binaries.h>
#include <libvm/beam/tables/owned_table.h>

#include <gmock/gmock.h>

#include <array>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMembers = 100;

class Binaries : public OnStandardNode {
  protected:
    Result<std::vector<Address>> listed(Address first, std::uint64_t limit = kMembers) {
        std::vector<Address> found;
        auto done = OffHeapWalker::open(fresh())->binaries(first, limit,
                                                           [&](const BinaryReference& reference) {
                                                               found.push_back(reference.binary);
                                                               return Result<void>();
                                                           });
        return done ? Result<std::vector<Address>>(std::move(found))
                    : std::unexpected(done.error());
    }
    Result<std::vector<Address>> swept() {
        std::vector<Address> found;
        auto done = sweep_literal_binaries(fresh(), literal_pages(), [&](Address binary) {
            found.push_back(binary);
            return Result<void>();
        });
        return done ? Result<std::vector<Address>>(std::move(found))
                    : std::unexpected(done.error());
    }
    [[nodiscard]] memory::AddressRange literal_pages() const {
        return {node.vm.literals.range().begin, node.vm.literals.next()};
    }
    /// A reference to a Binary among the literals.
    FakeStruct literal(Address binary, std::uint64_t bytes) {
        auto& fake = node.vm;
        const std::string name = fake.has("ProcBin") ? "ProcBin" : "BinRef";
        const auto words = fake.bytes(name) / 8;
        auto thing = fake.at(name, fake.literals.place(words * 8));
        thing
            .set("thing_word",
                 fake.header(words - 1, fake.constant({"refc_binary_subtag", "bin_ref_subtag"})))
            .set("val", binary)
            .set_if_any("size", bytes)
            .set_if_any("bytes", fake.at("Binary", binary).at("orig_bytes"));
        return thing;
    }
};

TEST_P(Binaries, AreListedByTheHeapThatRefersToThem) {
    // The worker's list has funs, too.
    EXPECT_THAT(listed(node.worker.off_heap()).value(), ElementsAre(node.binary));
    const auto table = node.vm.at("DbTableHash", node.auth_table).get("common.btid");
    EXPECT_THAT(listed(node.auth.off_heap()).value(), ElementsAre(table));
    EXPECT_THAT(listed(0).value(), IsEmpty());
}

TEST_P(Binaries, AListThatDoesNotEndIsImplausible) {
    auto last = node.vm.at("OffHeapHeader", node.auth.off_heap());
    last.set("next", last.address());
    EXPECT_THAT(listed(last.address()).error().message,
                HasSubstr("does not end after 100 members"));
    last.set("next", kNowhere);
    EXPECT_EQ(listed(last.address()).error().code, ErrorCode::kUnmapped);
    last.set("next", 0);
    EXPECT_TRUE(listed(last.address(), 1));
    EXPECT_FALSE(listed(last.address(), 0));
}

TEST_P(Binaries, AreReadWithAsMuchOfTheirBytesAsIsWanted) {
    const auto small = node.vm.add_binary("0123456789", 5);
    const auto magic = node.vm.add_magic_binary(77);
    const std::array addresses = {node.binary, small, magic, kNowhere};
    auto reader = BinaryReader::open(fresh(), 20, 16).value();
    const auto read = reader.read(addresses).value();
    ASSERT_EQ(read.size(), 3U);
    EXPECT_EQ(reader.unreadable(), 1U);
    EXPECT_EQ(read[0].size, kBinaryText.size());
    EXPECT_TRUE(read[0].content_apart);
    EXPECT_EQ(read[0].wanted, 20U);
    EXPECT_FALSE(read[0].facts.has_prefix());
    EXPECT_EQ(read[1].facts.prefix(), "0123456789");
    EXPECT_EQ(read[1].facts.references(), 5U);
    EXPECT_EQ(read[1].data, node.vm.at("Binary", small).at("orig_bytes"));
    EXPECT_TRUE(read[2].facts.magic());
    EXPECT_THAT(read[2].facts.magic_reference(), ElementsAre(11U, 22U, 33U));
    EXPECT_FALSE(read[2].facts.has_prefix());
}

TEST_P(Binaries, ThatLieAboutTheirSizesAreCounted) {
    auto binary = node.vm.at("Binary", node.binary);
    binary.set("orig_size", std::uint64_t{1} << 48U);
    auto reader = BinaryReader::open(fresh(), std::nullopt, 1U << 30U).value();
    EXPECT_THAT(reader.read(std::array{node.binary}).value(), IsEmpty());
    EXPECT_EQ(reader.unreadable(), 1U);
    // More bytes than are mapped: listed, without any of them.
    binary.set("orig_size", 16U << 20U);
    const auto read = reader.read(std::array{node.binary}).value();
    ASSERT_EQ(read.size(), 1U);
    EXPECT_FALSE(read[0].facts.has_prefix());
    EXPECT_EQ(reader.unreadable(), 2U);
}

TEST_P(Binaries, AreFoundAmongLiterals) {
    const auto large = node.vm.add_binary(std::string(100, 'l'));
    auto reference = literal(large, 100);
    auto& fake = node.vm;
    const auto magic = fake.add_magic_binary(1);
    const auto thing = fake.literals.place(fake.bytes("MagicRef"));
    fake.memory.put(thing,
                    fake.header(fake.bytes("MagicRef") / 8 - 1, fake.constant("reference_subtag")));
    fake.at("MagicRef", thing).set("mb", magic);
    EXPECT_THAT(swept().value(), ElementsAre(large, magic));
    // What only looks alike: no Binary, one that claims too much, an ordinary reference.
    fake.at("MagicRef", thing).set("mb", 0x1234ffffffffU);
    reference.set("val", kNowhere);
    EXPECT_THAT(swept().value(), IsEmpty());
    reference.set("val", large);
    fake.at("Binary", large).set("orig_size", std::uint64_t{1} << 48U);
    EXPECT_THAT(swept().value(), IsEmpty());
    fake.at("Binary", large).set("orig_size", 100);
    if (reference.has("size")) {
        reference.set("size", 101);
    } else {
        fake.at("Binary", large).set("refc", 0);
    }
    EXPECT_THAT(swept().value(), IsEmpty());
    fake.at("MagicRef", thing).set("mb", large);
    EXPECT_THAT(swept().value(), IsEmpty());
}

TEST_P(Binaries, LiteralsThatCannotBeReadAreAnError) {
    const auto end = node.vm.literals.range().end;
    const auto done = sweep_literal_binaries(fresh(), {end - 4096, end + 4096},
                                             [](Address) { return Result<void>(); });
    EXPECT_THAT(done.error().message, HasSubstr("literals"));
}

TEST_P(Binaries, FragmentsAreChained) {
    auto second = node.worker.fragment({1, 2, 3});
    second.set("off_heap.first", 0x77);
    auto reader = FragmentReader::open(fresh()).value();
    std::vector<std::uint64_t> words;
    const auto visit = [&](const Fragment& fragment) {
        words.push_back(fragment.used_words);
        return Result<void>();
    };
    const auto first = node.worker.structure().get("mbuf");
    EXPECT_TRUE(reader.chain(first, 2, visit));
    EXPECT_THAT(words, ElementsAre(3U, 2U));
    EXPECT_EQ(reader.read(first)->off_heap, 0x77U);
    EXPECT_EQ(reader.read(first)->words_begin, second.at("mem"));
    EXPECT_FALSE(reader.chain(first, 1, visit));
    EXPECT_THAT(reader.read(kNowhere).error().message, HasSubstr("a heap fragment"));
}

class OwnedTables : public OnStandardNode {
  protected:
    OwnedTableReader reader() { return OwnedTableReader::open(fresh()).value(); }
    FakeStruct table() { return node.vm.at("DbTableHash", node.auth_table); }
    Result<std::vector<std::uint64_t>> keys() {
        std::vector<std::uint64_t> found;
        auto done = reader().rows(node.auth_table, 3, [&](std::span<const std::uint64_t> row) {
            found.push_back(row[1]);
        });
        return done ? Result<std::vector<std::uint64_t>>(std::move(found))
                    : std::unexpected(done.error());
    }
};

TEST_P(OwnedTables, AreKnownByLeadingBackToTheirBinary) {
    const auto binary = table().get("common.btid");
    EXPECT_EQ(reader().table_of(binary, node.auth.pid()).value(), node.auth_table);
    EXPECT_FALSE(reader().table_of(binary, node.init.pid()).value());
    EXPECT_FALSE(reader().table_of(node.binary, node.auth.pid()).value());
    EXPECT_FALSE(reader().table_of(node.vm.add_magic_binary(0), node.auth.pid()).value());
    EXPECT_FALSE(reader().table_of(node.vm.add_magic_binary(kNowhere), node.auth.pid()).value());
    EXPECT_FALSE(reader().table_of(kNowhere, node.auth.pid()));
    table().set("common.btid", node.binary);
    EXPECT_FALSE(reader().table_of(binary, node.auth.pid()).value());
}

TEST_P(OwnedTables, GiveAllRows) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
    for (std::int64_t number = 0; number < 200; ++number) {
        rows.emplace_back(node.vm.small(number), node.vm.small(-number));
    }
    node.auth_table = add_table(node.vm, node.auth, rows);
    const auto found = keys().value();
    ASSERT_EQ(found.size(), 200U);
    EXPECT_EQ(found[199], node.vm.small(199));
}

TEST_P(OwnedTables, TablesInSeveralSegmentsAreRead) {
    // Slots 0 to 255 are in the first segment, those from 256 on in the second, from its 256th on.
    constexpr std::uint64_t kSegmentSlots = 2048;
    const auto second = node.vm.heap.place(kSegmentSlots * 8);
    auto row = node.vm.make("HashDbTerm", 32);
    node.vm.memory.put(row.at("dbterm.tpl") + 8, node.vm.small(300));
    node.vm.memory.put(second + 300 * 8, row.address());
    const auto first = node.vm.memory.word(table().get("segtab")).value();
    table().set("segtab", node.vm.heap.place_words({first, second})).set("nactive", 301);
    EXPECT_THAT(keys().value(), ElementsAre(node.vm.atom("other@there"), node.vm.small(300)));
}

TEST_P(OwnedTables, ThatLieAreRefused) {
    auto row =
        node.vm.at("HashDbTerm",
                   node.vm.memory.word(node.vm.memory.word(table().get("segtab")).value()).value());
    row.set("next", row.address());
    EXPECT_THAT(keys().error().message, HasSubstr("rows do not end"));
    row.set("next", kNowhere);
    EXPECT_EQ(keys().error().code, ErrorCode::kUnmapped);
    table().set("nactive", (1U << 20U) + 1);
    EXPECT_THAT(keys().error().message, HasSubstr("1048577 slots"));
    table().set("nactive", 1).set("segtab", kNowhere);
    EXPECT_EQ(keys().error().code, ErrorCode::kUnmapped);
    EXPECT_FALSE(reader().rows(kNowhere, 3, [](std::span<const std::uint64_t>) {}));
}

BEAMDUMP_FOR_EACH_LAYOUT(Binaries);
BEAMDUMP_FOR_EACH_LAYOUT(OwnedTables);

}  // namespace
}  // namespace beamdump::beam
