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

/// An export lists them with --detail stacks.
bool has_binaries(const ComparedDump& dump) {
    return dump.exported != nullptr
               ? dump.exported->fact("binaries") == dump.exported->count(binary_kind())
               : dump.dump->trailer().totals().has_binaries();
}

Result<void> read_binaries(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    // A crash dump has only the binaries that terms in it refer to, read or not.
    if (!dump.whole || dump.of_crash_dump || !has_binaries(dump)) {
        return {};
    }
    std::array<Amounts, 65> classes{};
    for (Amounts& amounts : classes) {
        amounts = {.size = 0, .members = 0};
    }
    const auto add = [&classes](std::uint64_t bytes) {
        Amounts& amounts = classes.at(static_cast<std::size_t>(std::bit_width(bytes)));
        *amounts.size += bytes;
        ++amounts.members;
    };
    if (dump.exported != nullptr) {
        RETURN_IF_ERROR(dump.exported->visit(binary_kind(), [&add](const ExportLine& line) {
            add(line.number("size_bytes").value_or(0));
        }));
    } else {
        RETURN_IF_ERROR(visit_binaries(*dump.dump, context.options.limits,
                                       [&add](const records::Binary& binary) -> Result<void> {
                                           add(binary.size_bytes());
                                           return {};
                                       }));
    }
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
