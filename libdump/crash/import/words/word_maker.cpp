#include <libdump/crash/import/words/word_maker.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr unsigned kPrimaryBits = 2;
constexpr unsigned kImmediate1Bits = 4;
constexpr unsigned kImmediate2Bits = 6;

/// The place of `kind` in a table of tags; each scheme has every kind that is asked for.
template <typename Table, typename Kind>
std::uint64_t tag_of(const Table& table, Kind kind) {
    return static_cast<std::uint64_t>(std::ranges::find(table, kind) - table.begin());
}

std::uint64_t immediate1(const TagScheme& scheme, WordKind kind) {
    return tag_of(scheme.by_primary, WordKind::kUnknown) | tag_of(scheme.by_immediate1, kind)
                                                               << kPrimaryBits;
}

std::uint64_t immediate2(const TagScheme& scheme, WordKind kind) {
    return immediate1(scheme, WordKind::kUnknown) | tag_of(scheme.by_immediate2, kind)
                                                        << kImmediate1Bits;
}

}  // namespace

std::uint64_t WordMaker::atom(std::uint32_t index) const {
    return std::uint64_t{index} << kImmediate2Bits | immediate2(scheme_, WordKind::kAtom);
}

std::uint64_t WordMaker::catch_word(std::uint32_t index) const {
    return std::uint64_t{index} << kImmediate2Bits | immediate2(scheme_, WordKind::kCatch);
}

std::uint64_t WordMaker::small(std::int64_t value) const {
    return static_cast<std::uint64_t>(value) << kImmediate1Bits |
           immediate1(scheme_, WordKind::kSmall);
}

bool WordMaker::is_small(std::int64_t value) {
    constexpr std::int64_t kMax = (std::int64_t{1} << 59U) - 1;
    return value <= kMax && value >= -kMax - 1;
}

std::uint64_t WordMaker::pid(std::uint64_t number, std::uint64_t serial) const {
    const auto data = serial << scheme_.pid_number_bits | low_bits(number, scheme_.pid_number_bits);
    return low_bits(data, scheme_.pid_bits) << kImmediate1Bits |
           immediate1(scheme_, WordKind::kPid);
}

std::uint64_t WordMaker::port(std::uint64_t number) const {
    return low_bits(number, scheme_.port_bits) << kImmediate1Bits |
           immediate1(scheme_, WordKind::kPort);
}

std::uint64_t WordMaker::pointer(std::uint64_t address, bool is_cell) const {
    return address | tag_of(scheme_.by_primary, is_cell ? WordKind::kList : WordKind::kBoxed);
}

std::uint64_t WordMaker::header(BoxedKind kind, std::uint64_t arity) const {
    return arity << kImmediate2Bits | tag_of(scheme_.by_subtag, kind) << kPrimaryBits;
}

std::uint64_t WordMaker::map_header(BoxedKind kind, std::uint64_t items) const {
    // erl_map.h: type, arity (unused here) and bitmap, one above the other.
    constexpr std::uint64_t kNodeBitmap = 1;
    constexpr std::uint64_t kHeadBitmap = 3;
    constexpr unsigned kBitmapShift = 10;
    const std::uint64_t bitmap = (std::uint64_t{1} << items) - 1;
    return header(
        BoxedKind::kFlatMap,
        (kind == BoxedKind::kHashMapNode ? kNodeBitmap : kHeadBitmap) | bitmap << kBitmapShift);
}

std::uint64_t WordMaker::fun_header(std::uint64_t arity, std::uint64_t environment,
                                    bool external) const {
    if (!scheme_.fun_in_header) {
        return header(BoxedKind::kFun, scheme_.fun_environment - 1);
    }
    constexpr unsigned kArityShift = 8;
    constexpr unsigned kEnvironmentShift = 16;
    std::uint64_t counts = environment;
    if (external) {
        counts = scheme_.fun_kind_in_header ? otp29::kFunExternal : 0;
    }
    return header(BoxedKind::kFun, 0) | arity << kArityShift | counts << kEnvironmentShift;
}

}  // namespace beamdump::crash
