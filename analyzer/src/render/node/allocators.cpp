#include "render/node/memory.h"
#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::render {
namespace {

using query::AllocatorLine;

std::string optional_bytes(const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytes_text(*bytes) : "?";
}

void print_lines(Output& output, const query::Allocators& answer, const Marks& marks) {
    Table table({{"ALLOCATOR"},
                 {"CARRIERS", Align::kRight},
                 {"BYTES", Align::kRight},
                 {"RESIDENT", Align::kRight},
                 {"BLOCKS", Align::kRight},
                 {"BYTES", Align::kRight},
                 {"USED", Align::kRight},
                 {"POOLED", Align::kRight}});
    const auto add = [&](const AllocatorLine& line) {
        const auto index = line.instance ? fmt::format("[{}]", *line.instance) : std::string();
        table.add({one_line(line.name) + index, marks("carriers", count_text(line.carriers)),
                   marks("carrier_bytes", bytes_text(line.carrier_bytes)),
                   line.resident_bytes
                       ? marks("allocators.resident_bytes", bytes_text(*line.resident_bytes))
                       : std::string(line.instance ? "" : "?"),
                   marks("blocks", count_text(line.blocks)),
                   marks("block_bytes", bytes_text(line.block_bytes)),
                   marks("utilisation", tenths_text(line.utilisation())),
                   line.pooled_carriers == 0
                       ? std::string()
                       : marks("pooled_bytes", bytes_text(line.pooled_bytes))});
    };
    for (const auto& line : answer.lines) {
        add(line);
    }
    if (answer.matching > 1) {
        add(answer.total);
    }
    table.print(output);
    print_rest(output, answer.lines.size(), answer.matching);
}

void print_segments(Output& output, const query::Allocators& answer, const Marks& marks) {
    if (answer.cached_segments) {
        output.print("\nKept by mseg_alloc for later: {}",
                     marks("cached_segments", counted(*answer.cached_segments, "segment")));
        if (answer.cached_bytes) {
            output.print(", {}", marks("cached_bytes", bytes_text(*answer.cached_bytes)));
        }
        if (answer.cached_resident_bytes) {
            output.print(", of which {} resident",
                         marks("cached_resident_bytes", bytes_text(*answer.cached_resident_bytes)));
        }
        output.write("\n");
    }
    if (answer.os_bytes) {
        output.print("Mapped from the operating system for carriers and these: {}\n",
                     marks("os_bytes", bytes_text(*answer.os_bytes)));
    }
    if (answer.super_carrier_bytes) {
        output.print(
            "Super carrier: {} used of {}\n",
            marks("super_carrier_used_bytes", optional_bytes(answer.super_carrier_used_bytes)),
            marks("super_carrier_bytes", bytes_text(*answer.super_carrier_bytes)));
    }
}

void print_fixed_sizes(Output& output, const query::Allocators& answer, const Marks& marks) {
    if (answer.fixed_sizes.empty()) {
        return;
    }
    Table table({{"TYPE"}, {"ALLOCATED", Align::kRight}, {"USED", Align::kRight}});
    for (const auto& type : answer.fixed_sizes) {
        table.add({one_line(type.name),
                   marks("fixed_sizes.allocated_bytes", bytes_text(type.allocated_bytes)),
                   marks("fixed_sizes.used_bytes", bytes_text(type.used_bytes))});
    }
    print_title(output, "Types of fix_alloc");
    table.print(output, "  ");
}

void write_members(JsonWriter& json, const AllocatorLine& line) {
    json.member("name", line.name);
    json.member("instance", line.instance);
    json.member("instances", line.instances);
    json.member("carriers", line.carriers);
    json.member("carrier_bytes", line.carrier_bytes);
    json.member("single_block_carriers", line.single_block_carriers);
    json.member("single_block_bytes", line.single_block_bytes);
    json.member("pooled_carriers", line.pooled_carriers);
    json.member("pooled_bytes", line.pooled_bytes);
    json.member("mseg_bytes", line.mseg_bytes);
    json.member("blocks", line.blocks);
    json.member("block_bytes", line.block_bytes);
    json.member("free_bytes", line.free_bytes());
    json.member("utilisation", line.utilisation());
    json.member("resident_bytes", line.resident_bytes);
}

}  // namespace

std::string tenths_text(const std::optional<std::uint64_t>& tenths) {
    return tenths ? fmt::format("{}.{}%", *tenths / 10, *tenths % 10) : "";
}

void allocators_text(Output& output, const query::Allocators& answer) {
    const Marks marks(answer.dump.layout);
    print_layout_notice(output, answer.dump.layout);
    if (answer.carriers) {
        carriers_text(output, *answer.carriers, marks);
    } else {
        print_lines(output, answer, marks);
    }
    if (answer.free_blocks) {
        free_blocks_text(output, *answer.free_blocks, marks);
    }
    print_segments(output, answer, marks);
    print_fixed_sizes(output, answer, marks);
}

void allocators_json(Output& output, const query::Allocators& answer) {
    JsonWriter json(output, "beamdump.allocators/1");
    write_dump(json, "dump", answer.dump);
    write_objects(json, "allocators", answer.lines,
                  [&json](const AllocatorLine& line) { write_members(json, line); });
    json.begin_object("total");
    write_members(json, answer.total);
    json.end_object();
    if (answer.carriers) {
        carriers_json(json, *answer.carriers);
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
