#include "alloc/collection_events.h"

#include <libvm/arch/x86_64/call_code.h>

#include <gtest/gtest.h>

#include <cstring>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kDuePlace = 100;

/// A fragment of no-ops with jumps to offsets, and calls of the emulator.
std::vector<std::byte> bif_fragment(const std::vector<std::size_t>& jumps_to,
                                    const std::vector<std::size_t>& calls_at) {
    std::vector<std::byte> code(160, std::byte{0x90});
    std::size_t at = 8;
    for (const auto to : jumps_to) {
        code[at] = std::byte{0x0f};
        code[at + 1] = std::byte{0x85};
        const auto distance = static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at + 6);
        std::memcpy(&code[at + 2], &distance, sizeof(distance));
        at += 9;
    }
    for (const auto call : calls_at) {
        code[call] = std::byte{0xff};
        code[call + 1] = std::byte{0x15};
    }
    return code;
}

TEST(CollectionPlaces, ThreeJumpsLeadToTheCollectionAfterABif) {
    EXPECT_EQ(arch::x86_64::collection_branch(
                  bif_fragment({140, 140, kDuePlace, kDuePlace, kDuePlace, 150}, {120})),
              kDuePlace);
}

TEST(CollectionPlaces, AreNotFoundInOtherCode) {
    EXPECT_EQ(arch::x86_64::collection_branch({}), std::nullopt);
    EXPECT_EQ(arch::x86_64::collection_branch(bif_fragment({kDuePlace, kDuePlace}, {120})),
              std::nullopt)
        << "two jumps";
    EXPECT_EQ(arch::x86_64::collection_branch(bif_fragment({kDuePlace, kDuePlace, kDuePlace}, {})),
              std::nullopt)
        << "no call";
    EXPECT_EQ(arch::x86_64::collection_branch(
                  bif_fragment({kDuePlace, kDuePlace, kDuePlace}, {120, 130})),
              std::nullopt)
        << "two calls";
    EXPECT_EQ(
        arch::x86_64::collection_branch(bif_fragment({kDuePlace, kDuePlace, kDuePlace}, {90})),
        std::nullopt)
        << "called before";
    EXPECT_EQ(arch::x86_64::collection_branch(bif_fragment({500, 500, 500}, {120})), std::nullopt)
        << "elsewhere";
}

}  // namespace
}  // namespace beamdump::sampler
