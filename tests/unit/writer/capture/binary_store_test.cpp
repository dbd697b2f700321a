#include "capture/copy/binary_store.h"

#include "fake_vm/each_layout.h"
#include "support/memory_sink.h"

#include <gmock/gmock.h>

#include <array>
#include <span>
#include <string>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;

class BinaryStoreTest : public OnStandardNode {
  protected:
    DumpWriter writer =
        DumpWriter::create(std::make_unique<MemorySink>(std::make_shared<SinkContent>()), {})
            .value();
    SecretTexts secrets;
    RegionCopier copier{writer, vm->memory(), nullptr, format::TermScheme::kOtp25, secrets};
    BinaryStore store = BinaryStore::open(*vm, copier, std::nullopt).value();
    BinaryStore parts_store = BinaryStore::open(*vm, copier, 4).value();
    /// Whether the binary is written again with that part.
    bool writes_again(Address binary, const beam::ShownPart& part) {
        const auto before = writer.stats().flat_bytes;
        vm->forget();
        EXPECT_TRUE(parts_store.add(binary, std::array{part}));
        EXPECT_TRUE(parts_store.settle());
        return writer.stats().flat_bytes != before;
    }
};

TEST_P(BinaryStoreTest, CountsABinaryOnceHoweverOftenItIsNamed) {
    const auto binary = node.vm.add_binary("0123456789");
    for (const bool moving : {false, true, true}) {
        store.set_moving(moving);
        ASSERT_TRUE(store.add(binary));
        ASSERT_TRUE(store.settle());
    }
    EXPECT_EQ(store.count(), 1U);
    EXPECT_EQ(store.bytes(), 10U);
    EXPECT_EQ(store.captured_bytes(), 10U);
}

TEST_P(BinaryStoreTest, CountsTheSizeOfTheLastBinaryAtAnAddress) {
    const auto binary = node.vm.add_binary("0123456789");
    ASSERT_TRUE(store.add(binary));
    ASSERT_TRUE(store.settle());
    // What stood still when it was written may be another binary once the node runs again.
    store.set_moving(true);
    node.vm.at("Binary", binary).set("orig_size", 6U);
    vm->forget();
    ASSERT_TRUE(store.add(binary));
    ASSERT_TRUE(store.settle());
    EXPECT_EQ(store.count(), 1U);
    EXPECT_EQ(store.bytes(), 6U);
    EXPECT_EQ(store.captured_bytes(), 6U);
    EXPECT_EQ(store.replaced(), 1U);
}

TEST_P(BinaryStoreTest, WritesNothingOfAnOwnerThatHasChanged) {
    const auto binary = node.vm.add_binary("0123456789");
    bool changed = true;
    const BinaryStore::Watch watch = [&changed]() -> Result<void> {
        return changed ? fail(ErrorCode::kChanged, "changed") : Result<void>();
    };
    store.set_watch(&watch);
    store.set_moving(true);
    // What has its address now is no binary.
    node.vm.at("Binary", binary).set("orig_size", std::uint64_t{1} << 46U);
    vm->forget();
    const auto before = writer.stats().flat_bytes;
    ASSERT_TRUE(store.add(binary));
    EXPECT_EQ(store.settle().error().code, ErrorCode::kChanged);
    EXPECT_EQ(writer.stats().flat_bytes, before);
    EXPECT_EQ(store.count(), 0U);
    EXPECT_EQ(store.bytes(), 0U);
    changed = false;
    node.vm.at("Binary", binary).set("orig_size", 10U);
    vm->forget();
    ASSERT_TRUE(store.add(binary));
    ASSERT_TRUE(store.settle());
    EXPECT_EQ(store.count(), 1U);
    EXPECT_EQ(store.bytes(), 10U);
    EXPECT_EQ(store.replaced(), 0U);
}

TEST_P(BinaryStoreTest, WritesABinaryAgainForAPartThatItLacks) {
    const auto binary = node.vm.add_binary(std::string(1000, 'a'));
    for (const bool moving : {false, true}) {
        parts_store.set_moving(moving);
        const auto first = moving ? 500U : 100U;
        EXPECT_TRUE(writes_again(binary, {first, 3}));
        EXPECT_FALSE(writes_again(binary, {first, 2}));
        EXPECT_FALSE(writes_again(binary, {1, 3})) << "in the first bytes";
        EXPECT_FALSE(writes_again(binary, {0, 1000})) << "the whole";
        EXPECT_FALSE(writes_again(binary, {1000, 3})) << "behind the end";
        EXPECT_TRUE(writes_again(binary, {first + 200, 50})) << "four times the beginning";
    }
    EXPECT_EQ(parts_store.count(), 1U);
    EXPECT_EQ(parts_store.bytes(), 1000U);
    // Once, when the node began to run: what stood still may be another, so its parts are gone.
    EXPECT_EQ(parts_store.replaced(), 1U);
    EXPECT_EQ(parts_store.captured_bytes(), 4U + 3 + 16);
}

TEST_P(BinaryStoreTest, DoesNotTakeThePartsOfAnotherBinary) {
    const auto binary = node.vm.add_binary(std::string(1000, 'a'));
    parts_store.set_moving(true);
    EXPECT_TRUE(writes_again(binary, {500, 3}));
    // Its first bytes are equal, and its size.
    node.vm.memory.put_bytes(node.vm.at("Binary", binary).at("orig_bytes") + 501,
                             std::as_bytes(std::span("b", 1)));
    EXPECT_TRUE(writes_again(binary, {500, 3}));
    EXPECT_EQ(parts_store.replaced(), 1U);
    EXPECT_EQ(parts_store.count(), 1U);
}

TEST_P(BinaryStoreTest, BoundsThePartsOfABinary) {
    const auto binary = node.vm.add_binary(std::string(100'000, 'a'));
    for (std::uint64_t part = 1; part <= KeptParts::kMostParts + 10; ++part) {
        EXPECT_EQ(writes_again(binary, {part * 100, 3}), part <= KeptParts::kMostParts) << part;
    }
    EXPECT_EQ(parts_store.captured_bytes(), 4 + 3 * KeptParts::kMostParts);
}

TEST_P(BinaryStoreTest, HidesSecretsThatReachIntoAPart) {
    secrets.add("SECRET");
    const auto binary = node.vm.add_binary("0123456789SECRET0123456789");
    const auto begin = node.vm.at("Binary", binary).at("orig_bytes");
    const memory::AddressRange part{begin + 13, begin + 18};
    EXPECT_THAT(copier.bytes({&part, 1}, {begin, begin + 26}).value(),
                ::testing::ElementsAre("***01"));
}

BEAMDUMP_FOR_EACH_LAYOUT(BinaryStoreTest);

}  // namespace
}  // namespace beamdump::capture
