#include "captured.h"
#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"

#include <gmock/gmock.h>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kBytesOfCarrier = 65536;
constexpr std::uint64_t kTagged = std::uint64_t{1} << 63U;
constexpr std::uint64_t kWord = 8;

/// Blocks of the allocators that a capture is asked for.
class BlockCaptureTest : public EachLayout {
  protected:
    void capture(std::vector<std::string> allocators, std::uint64_t bytes = 64) {
        CaptureOptions options;
        options.blocks = std::move(allocators);
        options.binary_bytes = bytes;
        options.search_pointers = search_pointers;
        FakeCapture capture(node.vm, options);
        ASSERT_TRUE(capture.begin());
        auto& session = capture.session();
        ASSERT_TRUE(session.node_facts(records::MEMORY_SOURCE_CORE, Session::never));
        ASSERT_TRUE(session.finish());
        Captured dump(capture.content());
        pages = dump.all<records::Blocks>(format::RecordKind::kBlocks);
        EXPECT_EQ(static_cast<std::size_t>(dump.reader().trailer().blocks_offset_size()),
                  pages.size());
        const auto system =
            dump.all<records::SystemMemory>(format::RecordKind::kSystemMemory).at(0);
        sums.assign(system.block_sums().begin(), system.block_sums().end());
    }

    Address add(const std::string& name, const std::vector<FakeBlock>& blocks) {
        return add_carrier_with(node.vm, number(name), 1, kBytesOfCarrier, blocks);
    }
    std::uint32_t number(const std::string& name) {
        return static_cast<std::uint32_t>(node.vm.constant("allocator_" + name));
    }
    /// A Binary at `place`, with that content.
    void put_binary(Address place, std::uint64_t references, std::string_view content) {
        auto binary = node.vm.at("Binary", place);
        binary.set("flags", 2).set("refc", references).set("orig_size", content.size());
        node.vm.memory.put_bytes(binary.at("orig_bytes"),
                                 std::as_bytes(std::span(content.data(), content.size())));
    }
    static bool has_owner() { return GetParam() > "otp-26"; }
    /// What the last words of a block say: NIF module `atom`, of process `pid` from OTP 27 on.
    void put_tag(Address block_end, std::uint64_t atom, std::uint64_t pid) {
        constexpr std::uint64_t kType = 21;
        const auto packed = atom << 8U | kType;
        if (!has_owner()) {
            node.vm.memory.put(block_end - kWord, packed);
        } else {
            node.vm.memory.put(block_end - 2 * kWord, packed);
            node.vm.memory.put(block_end - kWord, pid);
        }
    }

    StandardNode node{layout};
    bool search_pointers = false;
    std::vector<records::Blocks> pages;
    std::vector<records::BlockSums> sums;
};

TEST_P(BlockCaptureTest, OfBinariesHaveTheirReferencesTagAndFirstBytes) {
    const auto carrier =
        add("binary", {{160, false, kTagged}, {96, true}, {128, false}, {0, true}});
    const auto first = carrier + kFirstBlock;
    const std::string content(80, 'L');
    put_binary(first + kWord, 3, content);
    put_tag(first + 160, node.vm.atom_index("ok"), node.worker.pid());
    put_binary(first + 160 + 96 + kWord, 1, "short");
    capture({"binary_alloc"});
    ASSERT_EQ(pages.size(), 1U);
    EXPECT_EQ(pages[0].allocator(), number("binary"));
    EXPECT_EQ(pages[0].carrier_address(), carrier);
    ASSERT_EQ(pages[0].block_size(), 2);
    const auto& large = pages[0].block(0);
    EXPECT_EQ(large.address(), first + kWord);
    EXPECT_EQ(large.bytes(), 160U);
    EXPECT_EQ(large.references(), 3U);
    EXPECT_EQ(large.size_bytes(), 80U);
    EXPECT_EQ(large.flags(), 2U);
    EXPECT_EQ(large.first_bytes(), content.substr(0, 32));
    EXPECT_EQ(large.tag_atom(), node.vm.atom_index("ok"));
    EXPECT_EQ(large.tag_type(), 21U);
    EXPECT_EQ(large.has_tag_owner_id(), has_owner());
    const auto& small = pages[0].block(1);
    EXPECT_EQ(small.references(), 1U);
    EXPECT_EQ(small.first_bytes(), "short");
    EXPECT_FALSE(small.has_tag_atom() || small.has_tag_type());
    ASSERT_EQ(sums.size(), 1U);
    EXPECT_EQ(sums[0].carriers(), 1U);
    EXPECT_EQ(sums[0].read_carriers(), 1U);
    EXPECT_EQ(sums[0].blocks(), 2U);
    EXPECT_EQ(sums[0].bytes(), 160U + 128U);
    EXPECT_FALSE(sums[0].moving());
    EXPECT_THAT(sums[0].left_out_pass(), IsEmpty());
}

TEST_P(BlockCaptureTest, AreOfTheAllocatorsThatWereAskedFor) {
    add("binary", {{160, false}, {0, true}});
    const auto drivers = add("driver", {{64, false}, {0, true}});
    node.vm.memory.put(drivers + kFirstBlock + kWord, std::uint64_t{0x4847464544434241});
    capture({});
    EXPECT_THAT(pages, IsEmpty());
    EXPECT_THAT(sums, IsEmpty());
    capture({"driver_alloc"}, 8);
    ASSERT_EQ(pages.size(), 1U);
    ASSERT_EQ(pages[0].block_size(), 1);
    EXPECT_EQ(pages[0].block(0).first_bytes(), "ABCDEFGH");
    EXPECT_FALSE(pages[0].block(0).has_references());
    capture({"driver_alloc"}, 0);
    EXPECT_FALSE(pages.at(0).block(0).has_first_bytes());
}

TEST_P(BlockCaptureTest, OfACarrierThatContradictsItselfDoNotCount) {
    add("binary", {{160, false}, {0, true}});
    const auto broken = add("binary", {{64, false}, {128, false}, {0, true}});
    node.vm.memory.put(broken + kFirstBlock + 64, std::uint64_t{8});
    capture({"binary_alloc"});
    ASSERT_EQ(sums.size(), 1U);
    EXPECT_EQ(sums[0].carriers(), 2U);
    EXPECT_EQ(sums[0].read_carriers(), 1U);
    EXPECT_EQ(sums[0].changed_carriers(), 1U);
    EXPECT_EQ(sums[0].blocks(), 1U);
    EXPECT_EQ(sums[0].bytes(), 160U);
    std::vector<std::uint64_t> left_out;
    for (const auto& page : pages) {
        if (page.carrier_address() == broken) {
            left_out.push_back(page.pass());
        }
    }
    ASSERT_EQ(sums[0].left_out_pass_size(), 1);
    EXPECT_THAT(left_out, ElementsAre(sums[0].left_out_pass(0)));
}

TEST_P(BlockCaptureTest, WordsThatAreAnAddressInABlockAreCounted) {
    const auto first =
        add("driver", {{64, false}, {96, false}, {32, false}, {0, true}}) + kFirstBlock + kWord;
    const auto second = first + 64;
    const auto third = second + 96;
    capture({"driver_alloc"});
    EXPECT_FALSE(pages.at(0).block(0).has_pointers());
    EXPECT_FALSE(sums.at(0).has_searched_bytes());

    search_pointers = true;
    node.vm.memory.put(second, first);  // where it begins
    node.vm.memory.put(second + kWord, first + 63);
    node.vm.memory.put(third, second + 95);    // its last byte
    node.vm.memory.put(third + kWord, third);  // its own
    node.vm.memory.put(third + 2 * kWord, first - 1);
    // A heap's garbage, and a word that is not aligned.
    const auto heap = add("heap", {{64, false}, {0, true}}) + kFirstBlock + kWord;
    node.vm.memory.put(heap, third);
    node.vm.memory.put(second + 3 * kWord + 4, third);
    capture({"driver_alloc"});
    ASSERT_EQ(pages.at(0).block_size(), 3);
    EXPECT_EQ(pages[0].block(0).address(), first);
    EXPECT_EQ(pages[0].block(0).pointers(), 2U);
    EXPECT_EQ(pages[0].block(1).pointers(), 1U);
    EXPECT_TRUE(pages[0].block(2).has_pointers());
    EXPECT_EQ(pages[0].block(2).pointers(), 0U);
    EXPECT_GE(sums.at(0).searched_bytes(), kBytesOfCarrier);
}

TEST_P(BlockCaptureTest, ComeInPages) {
    constexpr std::size_t kMany = 1500;
    std::vector<FakeBlock> blocks(kMany, {32, false});
    blocks.push_back({0, true});
    add("driver", blocks);
    capture({"driver_alloc"});
    ASSERT_EQ(pages.size(), 2U);
    EXPECT_EQ(pages[0].block_size(), 1024);
    EXPECT_EQ(static_cast<std::size_t>(pages[1].block_size()), kMany - 1024);
    EXPECT_EQ(pages[0].pass(), pages[1].pass());
    EXPECT_EQ(sums.at(0).blocks(), kMany);
}

BEAMDUMP_FOR_EACH_LAYOUT(BlockCaptureTest);

}  // namespace
}  // namespace beamdump::capture
