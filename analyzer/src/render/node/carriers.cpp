#include "render/node/memory.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/term/pointer_text.h>

#include <fmt/format.h>

namespace beamdump::render {
namespace {

constexpr std::string_view kCarrierValue = "allocators.carrier_list";
constexpr std::string_view kFreeValue = "allocators.free_blocks";

std::string kind_text(const query::CarrierLine& line) {
    return fmt::format("{}{}{}", line.mseg ? "mseg" : "malloc",
                       line.single_block ? ", one block" : "", line.pooled ? ", pooled" : "");
}

}  // namespace

void carriers_text(Output& output, const query::CarrierListing& listing, const Marks& marks) {
    Table table({{"CARRIER"},
                 {"ALLOCATOR"},
                 {"BYTES", Align::kRight},
                 {"BLOCKS", Align::kRight},
                 {"BYTES", Align::kRight},
                 {"USED", Align::kRight},
                 {"FREE BLOCKS", Align::kRight},
                 {"LARGEST", Align::kRight},
                 {"KIND"}});
    const auto marked = [&marks](std::string text) {
        return marks(kCarrierValue, std::move(text));
    };
    for (const auto& line : listing.lines) {
        const bool read = line.free_blocks && !line.single_block;
        table.add({std::string(pointer_text(line.address).view()),
                   fmt::format("{}[{}]", one_line(line.allocator), line.instance),
                   marked(bytes_text(line.bytes)), marked(count_text(line.blocks)),
                   marked(bytes_text(line.block_bytes)),
                   marked(tenths_text(query::utilisation(line.block_bytes, line.bytes))),
                   line.single_block ? std::string()
                   : read            ? marked(count_text(*line.free_blocks))
                                     : "?",
                   read && line.largest_free_bytes.value_or(0) != 0
                       ? marked(bytes_text(*line.largest_free_bytes))
                       : std::string(),
                   kind_text(line)});
    }
    table.print(output);
    print_rest(output, listing.lines.size(), listing.matching);
}

void carriers_json(JsonWriter& json, const query::CarrierListing& listing) {
    json.member("matching_carriers", listing.matching);
    write_objects(json, "carrier_list", listing.lines, [&json](const query::CarrierLine& line) {
        json.member("allocator", line.allocator);
        json.member("instance", line.instance);
        json.hex_member("address", line.address);
        json.member("bytes", line.bytes);
        json.member("single_block", line.single_block);
        json.member("pooled", line.pooled);
        json.member("mseg", line.mseg);
        json.member("blocks", line.blocks);
        json.member("block_bytes", line.block_bytes);
        json.member("free_bytes", line.free_bytes());
        json.member("utilisation", query::utilisation(line.block_bytes, line.bytes));
        json.member("free_blocks", line.free_blocks);
        json.member("largest_free_bytes", line.largest_free_bytes);
    });
}

void free_blocks_text(Output& output, const query::FreeBlockSums& sums, const Marks& marks) {
    if (sums.carriers == 0) {
        return;
    }
    const auto marked = [&marks](std::string text) { return marks(kFreeValue, std::move(text)); };
    print_title(output, fmt::format("Free blocks by size, of {} of {} carriers with several blocks",
                                    count_text(sums.read_carriers), count_text(sums.carriers)));
    Table table({{"FROM", Align::kRight}, {"COUNT", Align::kRight}, {"BYTES", Align::kRight}});
    for (const auto& size : sums.sizes) {
        table.add({bytes_text(size.from_bytes), marked(count_text(size.count)),
                   marked(bytes_text(size.bytes))});
    }
    if (sums.sizes.size() > 1) {
        table.add({"total", marked(count_text(sums.count)), marked(bytes_text(sums.bytes))});
    }
    table.print(output, "  ");
    if (sums.largest_bytes) {
        output.print("  The largest has {}.\n", marked(bytes_text(*sums.largest_bytes)));
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

}  // namespace beamdump::render
