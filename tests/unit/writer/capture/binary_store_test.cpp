#include "capture/copy/binary_store.h"

#include "fake_vm/each_layout.h"
#include "support/memory_sink.h"

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

BEAMDUMP_FOR_EACH_LAYOUT(BinaryStoreTest);

}  // namespace
}  // namespace beamdump::capture
