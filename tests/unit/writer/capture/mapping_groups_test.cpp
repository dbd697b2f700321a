#include "capture/node/mapping_groups.h"

#include "fake_vm/fake_vm.h"
#include "fake_vm/standard_node.h"

#include <libvm/target/image/mappings.h>

#include <gmock/gmock.h>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;

constexpr std::uint64_t kMegabyte = 1U << 20U;
constexpr std::uint64_t kArena = 64 * kMegabyte;

std::vector<std::string_view> kinds_of(std::string_view maps) {
    const auto mappings = target::Mappings::parse(maps).value();
    return mapping_kinds(mappings.all(), {"/usr/bin/beam.smp", {0x500000000, 0x540000000}});
}

TEST(MappingKinds, AreTakenFromNamesPermissionsAndNeighbours) {
    EXPECT_THAT(kinds_of("00400000-00500000 r-xp 00000000 00:00 1 /usr/bin/beam.smp\n"
                         "00500000-00501000 rw-p 00000000 00:00 1 /usr/bin/beam.smp\n"
                         "00501000-00510000 rw-p 00000000 00:00 0 \n"
                         "00600000-00700000 rw-p 00000000 00:00 0 [heap]\n"
                         "500000000-500100000 rw-p 00000000 00:00 0 \n"
                         "600000000-600100000 rw-s 00000000 00:00 9 /memfd:vmem (deleted)\n"
                         "700000000-700100000 rwxp 00000000 00:00 0 \n"
                         "800000000-800100000 rw-p 00000000 00:00 0 \n"
                         "800100000-804000000 ---p 00000000 00:00 0 \n"
                         "900000000-900001000 ---p 00000000 00:00 0 \n"
                         "900001000-900100000 rw-p 00000000 00:00 0 \n"
                         "a00000000-a00100000 rw-p 00000000 00:00 0 \n"
                         "b00000000-b00100000 r--p 00000000 00:00 2 /lib/libc.so.6\n"
                         "c00000000-c00100000 rw-p 00000000 00:00 0 [stack]\n"
                         "d00000000-d00100000 r-xp 00000000 00:00 0 [vdso]\n"),
                ElementsAre(kVmFile, kVmFile, kVmFile, kHeapMapping, kLiterals, kJitCode, kJitCode,
                            kMallocArena, kAnonymous, kAnonymous, kThreadStack, kAnonymous,
                            kLibrary, kThreadStack, kKernel));
    // An arena whose 64 MiB are not all its own is none.
    EXPECT_THAT(kinds_of("800000000-800100000 rw-p 00000000 00:00 0 \n"
                         "800100000-803000000 ---p 00000000 00:00 0 \n"),
                ElementsAre(kAnonymous, kAnonymous));
    static_assert(0x804000000 - 0x800000000 == kArena);
}

class MappingGroupsTest : public ::testing::Test {
  protected:
    const records::MappingGroup& group(const records::SystemMemory& system, std::string_view kind) {
        for (const auto& one : system.group()) {
            if (one.kind() == kind) {
                return one;
            }
        }
        throw std::logic_error("no such group");
    }
    StandardNode node{layout_of("otp-25")};
};

TEST_F(MappingGroupsTest, PartsAreCountedWhereTheyAreResident) {
    const auto heap = node.vm.heap.range();
    target::MappingUse use;
    use.mapping.range = heap;
    use.mapping.readable = use.mapping.writable = true;
    use.resident_bytes = heap.bytes();
    use.swapped_bytes = 8192;
    node.vm.about.mapping_use = {use};
    const auto vm = node.vm.located();
    const std::vector<MappedPart> parts = {{{heap.begin, heap.begin + 8192}, 6U},
                                           {{heap.begin + 12288, heap.begin + 16384}, std::nullopt},
                                           {{heap.end - 4096, heap.end + 4096}, 6U}};
    records::SystemMemory system;
    system.add_carriers()->set_allocator(6);
    system.mutable_segment_cache()->set_segments(1);
    EXPECT_THAT(add_mapping_groups(*vm, parts, system), ::testing::IsEmpty());
    const auto& all = group(system, kAnonymous);
    EXPECT_EQ(all.resident_bytes(), heap.bytes());
    EXPECT_EQ(all.swapped_bytes(), 8192U);
    EXPECT_EQ(all.carrier_resident_bytes(), 12288U);
    EXPECT_EQ(all.cache_resident_bytes(), 4096U);
    EXPECT_EQ(system.carriers(0).resident_bytes(), 12288U);
    EXPECT_EQ(system.segment_cache().resident_bytes(), 4096U);
    EXPECT_EQ(system.resident_bytes(), heap.bytes());
}

TEST_F(MappingGroupsTest, ACoreHasMappingsOnly) {
    const auto vm = node.vm.located();
    records::SystemMemory system;
    system.add_carriers()->set_allocator(6);
    EXPECT_THAT(add_mapping_groups(*vm, {}, system), ::testing::IsEmpty());
    EXPECT_FALSE(system.has_resident_bytes());
    EXPECT_FALSE(system.carriers(0).has_resident_bytes());
    EXPECT_EQ(group(system, kLiterals).mappings(), 1U);
    EXPECT_FALSE(group(system, kLiterals).has_resident_bytes());
}

}  // namespace
}  // namespace beamdump::capture
