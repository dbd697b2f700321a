#include "render/memory.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {
namespace {

void print_segments(Output& output, const query::Allocators& answer) {
    if (answer.cached_segments) {
        output.print("\nKept by mseg_alloc for later: {}",
                     counted(*answer.cached_segments, "segment"));
        if (answer.cached_bytes) {
            output.print(", {}", bytes_text(*answer.cached_bytes));
        }
        if (answer.cached_resident_bytes) {
            output.print(", of which {} resident", bytes_text(*answer.cached_resident_bytes));
        }
        output.write("\n");
    }
    if (answer.os_bytes) {
        output.print("Mapped from the operating system for carriers and these: {}\n",
                     bytes_text(*answer.os_bytes));
    }
    if (answer.super_carrier_bytes) {
        output.print(
            "Super carrier: {} used of {}\n",
            answer.super_carrier_used_bytes ? bytes_text(*answer.super_carrier_used_bytes) : "?",
            bytes_text(*answer.super_carrier_bytes));
    }
}

void print_fixed_sizes(Output& output, const query::Allocators& answer) {
    if (answer.fixed_sizes.empty()) {
        return;
    }
    Table table({{"TYPE"}, {"ALLOCATED", Align::kRight}, {"USED", Align::kRight}});
    for (const auto& type : answer.fixed_sizes) {
        table.add(
            {one_line(type.name), bytes_text(type.allocated_bytes), bytes_text(type.used_bytes)});
    }
    print_title(output, "Types of fix_alloc");
    table.print(output, "  ");
}

void free_blocks_text(Output& output, const query::FreeBlockSums& sums) {
    if (sums.carriers == 0) {
        return;
    }
    print_title(output, fmt::format("Free blocks by size, of {} of {} carriers with several blocks",
                                    count_text(sums.read_carriers), count_text(sums.carriers)));
    Table table({{"FROM", Align::kRight}, {"COUNT", Align::kRight}, {"BYTES", Align::kRight}});
    for (const auto& size : sums.sizes) {
        table.add({bytes_text(size.from_bytes), count_text(size.count), bytes_text(size.bytes)});
    }
    if (sums.sizes.size() > 1) {
        table.add({"total", count_text(sums.count), bytes_text(sums.bytes)});
    }
    table.print(output, "  ");
    if (sums.largest_bytes) {
        output.print("  The largest has {}.\n", bytes_text(*sums.largest_bytes));
    }
    if (sums.changed_carriers != 0) {
        output.print("  {} changed while being read.\n", counted(sums.changed_carriers, "carrier"));
    }
    if (sums.unreadable_carriers != 0) {
        output.print("  {} could not be read, as parts were not in memory.\n",
                     counted(sums.unreadable_carriers, "carrier"));
    }
}

void free_blocks_json(JsonWriter& json, const query::FreeBlockSums& sums) {
    json.begin_object("free_blocks");
    json.member("carriers", sums.carriers);
    json.member("carrier_bytes", sums.carrier_bytes);
    json.member("read_carriers", sums.read_carriers);
    json.member("read_carrier_bytes", sums.read_carrier_bytes);
    json.member("changed_carriers", sums.changed_carriers);
    json.member("unreadable_carriers", sums.unreadable_carriers);
    json.member("count", sums.count);
    json.member("bytes", sums.bytes);
    json.member("largest_bytes", sums.largest_bytes);
    write_objects(json, "sizes", sums.sizes, [&json](const query::FreeBlockClass& size) {
        json.member("from_bytes", size.from_bytes);
        json.member("count", size.count);
        json.member("bytes", size.bytes);
    });
    json.end_object();
}

constexpr RowListTexts kAllocatorTexts = {
    .schema = "beamdump.allocators/1", .member = "allocators", .things = "allocators"};
constexpr RowListTexts kCarrierTexts = {
    .schema = "beamdump.allocators/1", .member = "carrier_list", .things = "carriers"};

}  // namespace

void allocators_text(Output& output, query::Allocators& answer, const query::DumpFacts& facts) {
    RowListExtras extras;
    extras.text_after = [&](Output& out) {
        if (answer.free_blocks) {
            free_blocks_text(out, *answer.free_blocks);
        }
        print_segments(out, answer);
        print_fixed_sizes(out, answer);
    };
    if (answer.carriers) {
        rows_text(output, *answer.carriers, facts, kCarrierTexts, extras);
    } else {
        extras.total = answer.total;
        rows_text(output, answer.lines, facts, kAllocatorTexts, extras);
    }
}

void allocators_json(Output& output, query::Allocators& answer, const query::DumpFacts& facts) {
    JsonWriter json(output, kAllocatorTexts.schema);
    write_dump(json, "dump", facts);
    row_array_json(json, answer.lines, kAllocatorTexts);
    json.begin_object("total");
    row_members_json(json, query::allocator_columns(), answer.total);
    json.end_object();
    if (answer.carriers) {
        json.member("matching_carriers", answer.carriers->matching());
        row_array_json(json, *answer.carriers, kCarrierTexts);
    }
    if (answer.free_blocks) {
        free_blocks_json(json, *answer.free_blocks);
    }
    json.member("cached_segments", answer.cached_segments);
    json.member("cached_bytes", answer.cached_bytes);
    json.member("cached_resident_bytes", answer.cached_resident_bytes);
    json.member("os_bytes", answer.os_bytes);
    json.member("super_carrier_bytes", answer.super_carrier_bytes);
    json.member("super_carrier_used_bytes", answer.super_carrier_used_bytes);
    write_objects(json, "fixed_sizes", answer.fixed_sizes, [&json](const auto& type) {
        json.member("name", type.name);
        json.member("allocated_bytes", type.allocated_bytes);
        json.member("used_bytes", type.used_bytes);
    });
    json.finish();
}

}  // namespace beamdump::render
