#include "query/memory/binary_sizes.h"

#include "query/holders/binary_records.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

namespace {

constexpr std::uint64_t kSmallestClass = 256;
constexpr std::uint64_t kLargestClass = 64U << 20U;

std::vector<BinarySizeClass> empty_classes() {
    std::vector<BinarySizeClass> classes = {{0, kSmallestClass, 0, 0}};
    for (auto from = kSmallestClass; from < kLargestClass; from *= 4) {
        classes.push_back({from, from * 4, 0, 0});
    }
    classes.push_back({kLargestClass, std::nullopt, 0, 0});
    return classes;
}

}  // namespace

Result<std::vector<BinarySizeClass>> binary_sizes(Dump& dump, const InputLimits& limits) {
    auto classes = empty_classes();
    const auto count = [&classes](const records::Binary& binary) -> Result<void> {
        if (!binary.has_size_bytes()) {
            return {};  // a text breaks off before it
        }
        for (auto& one : classes) {
            if (!one.below_bytes || binary.size_bytes() < *one.below_bytes) {
                ++one.binaries;
                one.bytes += binary.size_bytes();
                break;
            }
        }
        return {};
    };
    if (auto read = visit_binaries(dump, limits, count); !read) {
        return wrap("counting binaries by size", std::move(read.error()));
    }
    std::erase_if(classes, [](const BinarySizeClass& one) { return one.binaries == 0; });
    return classes;
}

}  // namespace beamdump::query
