#include "query/diff/diff_source.h"
#include "query/holders/binary_records.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

namespace beamdump::query {

namespace {

/// Addresses are used again, so a binary is not found in another dump: sizes are compared, in
/// classes from one power of two to the next.
std::string class_text(std::size_t bits) {
    return bits == 0 ? "empty"
                     : fmt::format("{} to {}", bytes_text(1ULL << (bits - 1)),
                                   bits == 64 ? "all" : bytes_text(1ULL << bits));
}

Result<void> read_binaries(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    // A crash dump has only the binaries that terms in it refer to, read or not.
    if (!dump.whole || dump.of_crash_dump || !dump.dump->trailer().totals().has_binaries()) {
        return {};
    }
    std::array<Amounts, 65> classes{};
    for (Amounts& amounts : classes) {
        amounts = {.size = 0, .members = 0};
    }
    RETURN_IF_ERROR(visit_binaries(*dump.dump, context.options.limits,
                                   [&classes](const records::Binary& binary) -> Result<void> {
                                       const auto bits = std::bit_width(binary.size_bytes());
                                       Amounts& amounts =
                                           classes.at(static_cast<std::size_t>(bits));
                                       *amounts.size += binary.size_bytes();
                                       ++amounts.members;
                                       return {};
                                   }));
    table.begin(number);
    for (std::size_t bits = 0; bits < classes.size(); ++bits) {
        if (classes.at(bits).members != 0) {
            table.add(class_text(bits), classes.at(bits));
        }
    }
    return {};
}

constexpr DiffSource kBinarySource = {
    .kind = {.name = "binaries",
             .title = "Reference-counted binaries by size",
             .thing = "SIZE OF EACH",
             .size = "bytes",
             .members = "binaries",
             .ranked = true},
    .read = read_binaries,
};

}  // namespace

const DiffSource& binaries_diff_source() {
    return kBinarySource;
}

}  // namespace beamdump::query
