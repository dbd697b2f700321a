#include "render/memory.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace beamdump::render {
namespace {

struct Title {
    std::string_view name;
    std::string_view text;
};

constexpr std::array kTitles = {
    Title{"heaps", "heaps, stacks and messages of processes"},
    Title{"binaries", "reference-counted binaries"},
    Title{"ets", "ETS tables"},
    Title{"process_structures", "process structures, links, monitors, timers"},
    Title{"literals", "literals of modules and persistent terms"},
    Title{"long_lived_tables", "tables of atoms, code, processes and ports"},
    Title{"drivers", "drivers, ports and NIFs"},
    Title{"standard_blocks", "other blocks of the runtime"},
    Title{"short_lived_blocks", "short-lived blocks of the runtime"},
    Title{"temporary_blocks", "temporary blocks of the runtime"},
    Title{"allocator_overhead", "free in the allocators' carriers"},
    Title{"segment_cache", "kept by mseg_alloc for later"},
    Title{"jit_code", "JIT code; the same pages mapped twice count twice"},
    Title{"c_heap", "malloc, outside of carriers"},
    Title{"stacks", "stacks of threads"},
    Title{"vm_file", "the VM's executable and its data"},
    Title{"libraries", "shared libraries and other files"},
    Title{"kernel", "of the kernel"},
    Title{"unexplained", "unexplained"}};

/// The names of erlang:memory/0, in its order (OTP 25 to 29).
constexpr std::array<std::string_view, 9> kCategoryNames = {
    "total", "processes", "processes_used", "system", "atom", "atom_used", "binary", "code", "ets"};

void print_categories(Output& output, const query::Memory& answer) {
    if (answer.categories.empty()) {
        output.write("The dump does not have the categories of erlang:memory/0.\n");
        return;
    }
    Table table({{""}, {"", Align::kRight}});
    for (const auto& [name, bytes] : answer.categories) {
        table.add({one_line(name), bytes_text(bytes)});
    }
    output.write("Memory by category (erlang:memory/0)\n");
    table.print(output, "  ");
    std::vector<std::string_view> unknown;
    std::ranges::copy_if(kCategoryNames, std::back_inserter(unknown), [&](std::string_view name) {
        return std::ranges::find(answer.categories, name,
                                 &std::pair<std::string, std::uint64_t>::first) ==
               answer.categories.end();
    });
    if (!unknown.empty()) {
        output.print("  not known: {}\n", fmt::join(unknown, ", "));
    }
}

void print_resident(Output& output, const query::Memory& answer) {
    if (answer.resident.empty()) {
        if (answer.resident_bytes) {
            output.print("\nResident memory: {}; the dump does not say what holds it.\n",
                         bytes_text(*answer.resident_bytes));
        }
        return;
    }
    const auto whole = *answer.resident_bytes;
    Table table({{""}, {"", Align::kRight}, {"", Align::kRight}});
    for (const auto& part : answer.resident) {
        table.add({resident_title(part.name), bytes_text(part.bytes),
                   part_share_text(part.bytes, whole)});
    }
    print_title(output,
                fmt::format("Resident memory by holder: {} as the operating system counts it",
                            bytes_text(whole)));
    table.print(output, "  ");
    if (answer.swapped_bytes.value_or(0) != 0) {
        output.print("  and {} swapped out\n", bytes_text(*answer.swapped_bytes));
    }
    if (answer.lazy_free_bytes.value_or(0) != 0) {
        output.print(
            "  {} of it were given back (MADV_FREE) and stay until the kernel needs them: "
            "LazyFree\n",
            bytes_text(*answer.lazy_free_bytes));
    }
    if (!answer.of_one_moment.value_or(true)) {
        output.write(
            "  The node ran meanwhile: allocators, carriers and resident pages are of different "
            "moments.\n");
    }
}

/// Those with a limit, else the node's own only.
void print_cgroups(Output& output, const query::Memory& answer) {
    Table table({{"CGROUP", Align::kLeft, true},
                 {"USED", Align::kRight},
                 {"WORKING SET", Align::kRight},
                 {"LIMIT", Align::kRight},
                 {"SWAP", Align::kRight},
                 {"OOM KILLS", Align::kRight}});
    const auto bytes = [](const std::optional<std::uint64_t>& value, const char* unknown = "?") {
        return value ? bytes_text(*value) : std::string(unknown);
    };
    bool first = true;
    for (const auto& cgroup : answer.cgroups) {
        if (first || cgroup.limit_bytes || cgroup.high_bytes) {
            const auto& limit = cgroup.limit_bytes ? cgroup.limit_bytes : cgroup.high_bytes;
            table.add({one_line(cgroup.name), bytes(cgroup.used_bytes),
                       bytes(cgroup.working_set_bytes), bytes(limit, "none"),
                       bytes(cgroup.swap_bytes),
                       cgroup.oom_kills ? count_text(*cgroup.oom_kills) : "?"});
        }
        first = false;
    }
    if (!first) {
        print_title(output, "Memory cgroups, from the node's own up");
        table.print(output, "  ");
    }
}

void print_held(Output& output, const query::Memory& answer) {
    Table table({{""}, {"", Align::kRight}, {""}});
    const auto row = [&](const char* what, const std::optional<std::uint64_t>& bytes,
                         std::string remark) {
        if (bytes) {
            table.add({what, bytes_text(*bytes), std::move(remark)});
        }
    };
    const auto count = [&](const std::optional<std::uint64_t>& number, std::string_view what) {
        return number ? fmt::format("{} {}", count_text(*number), what) : std::string();
    };
    row("free in carriers", answer.allocator_free_bytes, "resident or not; see allocators");
    row("cached segments", answer.cached_segment_bytes, "resident or not");
    row("binaries", answer.binary_bytes,
        count(answer.binary_count, "reference-counted, full sizes"));
    row("code", answer.code_bytes, count(answer.module_instances, "module instances"));
    print_title(output, "Sizes");
    table.print(output, "  ");
}

void print_kinds(Output& output, const query::DumpFacts& facts, const query::ProcessGroups& kinds) {
    Table table({{"INITIAL CALL", Align::kLeft, true},
                 {"PROCESSES", Align::kRight},
                 {"MEMORY", Align::kRight}});
    for (const auto& kind : kinds.groups) {
        table.add({kind.name ? one_line(facts.names.shown(*kind.name)) : "?",
                   count_text(kind.count),
                   kind.memory_bytes ? bytes_text(*kind.memory_bytes) : "?"});
    }
    output.print("\nLargest of {} of processes (processes --group-by)\n",
                 counted(kinds.group_count, "kind"));
    table.print(output, "  ");
}

void print_tables(Output& output, const query::DumpFacts& facts,
                  const query::LargestTables& tables) {
    Table table({{"NAME", Align::kLeft, true},
                 {"ROWS", Align::kRight},
                 {"MEMORY", Align::kRight},
                 {"OWNER", Align::kLeft, true}});
    for (const auto& line : tables.tables) {
        table.add({one_line(facts.names.shown(line.name.value_or("?"))),
                   line.size ? count_text(*line.size) : "?",
                   line.memory_bytes ? bytes_text(*line.memory_bytes) : "?",
                   one_line(line.owner_display_name.value_or(line.owner.value_or("?")))});
    }
    output.print("\nLargest of {}{} (ets)\n", at_least(facts, "ets"),
                 counted(tables.total, "ETS table"));
    table.print(output, "  ");
}

void print_binary_sizes(Output& output, const std::vector<query::BinarySizeClass>& classes) {
    Table table({{"SIZE"}, {"BINARIES", Align::kRight}, {"MEMORY", Align::kRight}});
    for (const auto& one : classes) {
        const auto from = bytes_text(one.from_bytes);
        table.add({!one.below_bytes      ? from + " or more"
                   : one.from_bytes == 0 ? "below " + bytes_text(*one.below_bytes)
                                         : from + " to " + bytes_text(*one.below_bytes),
                   count_text(one.binaries), bytes_text(one.bytes)});
    }
    output.write("\nReference-counted binaries by size (binaries)\n");
    table.print(output, "  ");
}

std::string_view block_kind_text(std::string_view kind) {
    return kind == "driver_binary" ? "binary of a driver"
           : kind == "magic"       ? "resource or other magic binary"
                                   : kind;
}

/// "1", or "1 to 3".
std::string span_text(const std::optional<std::uint64_t>& least,
                      const std::optional<std::uint64_t>& most) {
    if (!least || !most) {
        return {};
    }
    return *least == *most ? count_text(*least)
                           : fmt::format("{} to {}", count_text(*least), count_text(*most));
}

void print_block_groups(Output& output, const query::AllocatorBlocks& allocator) {
    Table table({{"KIND"},
                 {"ASKED BY", Align::kLeft, true},
                 {"SIZE", Align::kRight},
                 {"BLOCKS", Align::kRight},
                 {"MEMORY", Align::kRight},
                 {"REFERENCES", Align::kRight},
                 {"FOUND", Align::kRight},
                 {"LOST", Align::kRight},
                 {"FIRST BYTES", Align::kLeft, true}});
    for (const auto& group : allocator.groups) {
        const auto beginning =
            group.first_bytes.empty()
                ? std::string()
                : fmt::format("{} ({})", one_line(group.first_bytes), count_text(group.begin_so));
        table.add(
            {std::string(block_kind_text(group.kind)) + (group.referred_to ? ", also of terms"
                                                         : group.queued    ? ", in a port's queue"
                                                                           : ""),
             one_line(group.asked_by.value_or("?")), "from " + bytes_text(group.from_bytes),
             count_text(group.blocks), bytes_text(group.bytes),
             span_text(group.least_references, group.most_references),
             span_text(group.least_found, group.most_found),
             group.lost_blocks ? count_text(*group.lost_blocks) : "", beginning});
    }
    table.print(output, "  ");
    if (allocator.groups.size() < allocator.group_count) {
        output.print("  and {} (--limit 0)\n",
                     counted(allocator.group_count - allocator.groups.size(), "more group"));
    }
}

/// What the search for addresses tells.
void print_lost(Output& output, const query::AllocatorBlocks& allocator) {
    if (!allocator.lost_blocks) {
        return;
    }
    output.print(
        "  {} of {} are lost: in {} of the node's memory no word is an address in one of them\n",
        count_text(*allocator.lost_blocks), bytes_text(*allocator.lost_bytes),
        bytes_text(allocator.searched_bytes));
    if (allocator.unsearched_bytes != 0) {
        output.print("  {} could not be searched: what has an address there is not lost\n",
                     bytes_text(allocator.unsearched_bytes));
    }
}

void print_allocator_blocks(Output& output, const query::AllocatorBlocks& allocator,
                            std::uint64_t processes_left_out) {
    print_title(output, fmt::format("Blocks in use of {}: {} of {}", allocator.allocator,
                                    count_text(allocator.blocks), bytes_text(allocator.bytes)));
    if (allocator.counted_bytes) {
        output.print("  the allocator counts {} of {}\n", count_text(*allocator.counted_blocks),
                     bytes_text(*allocator.counted_bytes));
    }
    if (allocator.read_carriers < allocator.carriers) {
        output.print(
            "  blocks of {} of {} are not known: {} changed while they were read, {} not "
            "in memory\n",
            count_text(allocator.carriers - allocator.read_carriers),
            counted(allocator.carriers, "carrier"), count_text(allocator.changed_carriers),
            count_text(allocator.unreadable_carriers));
    }
    if (!allocator.reached_blocks) {
        print_lost(output, allocator);
        print_block_groups(output, allocator);
        return;
    }
    output.print(
        "  {} of {} are binaries that terms of processes, tables, messages and literals refer to\n"
        "  {} of {} no term refers to: they are held by drivers, NIFs or the VM (queues of ports "
        "and connections, timers), or lost\n",
        count_text(*allocator.reached_blocks), bytes_text(*allocator.reached_bytes),
        count_text(allocator.blocks - *allocator.reached_blocks),
        bytes_text(allocator.bytes - *allocator.reached_bytes));
    if (allocator.queued_blocks.value_or(0) != 0) {
        output.print(
            "  of these {} of {} are in queues of ports (ports --columns "
            "port,name,queue,queued_binaries,queued_binary_bytes)\n",
            count_text(*allocator.queued_blocks), bytes_text(*allocator.queued_bytes));
    }
    print_lost(output, allocator);
    if (allocator.differing_blocks) {
        output.print(
            "  of those that terms refer to, {} of {} have another reference count than references "
            "were found\n",
            count_text(*allocator.differing_blocks), bytes_text(*allocator.differing_bytes));
    }
    if (allocator.moving) {
        output.write(
            "  The node ran meanwhile: among the latter are binaries that were freed before the "
            "processes were read (--mode snapshot or freeze has none of these).\n");
    }
    if (processes_left_out != 0) {
        output.print("  What {} alone refer to, whose memory is not in the dump, is among them.\n",
                     counted(processes_left_out, "process", "processes"));
    }
    print_block_groups(output, allocator);
}

}  // namespace

std::string resident_title(const std::string& name) {
    const auto* found = std::ranges::find(kTitles, name, &Title::name);
    return found == kTitles.end() ? one_line(name) : std::string(found->text);
}

std::string part_share_text(std::uint64_t part, std::uint64_t whole) {
    constexpr double kPercent = 100.0;
    return whole == 0 ? std::string()
                      : fmt::format("{:.1f}%", kPercent * static_cast<double>(part) /
                                                   static_cast<double>(whole));
}

void memory_text(Output& output, const query::Memory& answer) {
    print_layout_notice(output, answer.dump.layout);
    print_categories(output, answer);
    print_resident(output, answer);
    print_cgroups(output, answer);
    print_held(output, answer);
    if (!answer.largest.empty()) {
        print_title(output, "Largest processes");
        print_process_table(output, answer.largest, "  ");
    }
    if (!answer.kinds.groups.empty()) {
        print_kinds(output, answer.dump, answer.kinds);
    }
    if (answer.tables && !answer.tables->tables.empty()) {
        print_tables(output, answer.dump, *answer.tables);
    }
    if (answer.binary_sizes && !answer.binary_sizes->empty()) {
        print_binary_sizes(output, *answer.binary_sizes);
    }
    if (answer.blocks) {
        for (const auto& allocator : answer.blocks->allocators) {
            print_allocator_blocks(output, allocator, answer.blocks->processes_left_out);
        }
    }
}

namespace {

void write_allocator_blocks(JsonWriter& json, const query::AllocatorBlocks& allocator) {
    json.member("allocator", allocator.allocator);
    json.member("carriers", allocator.carriers);
    json.member("read_carriers", allocator.read_carriers);
    json.member("changed_carriers", allocator.changed_carriers);
    json.member("unreadable_carriers", allocator.unreadable_carriers);
    json.member("of_one_moment", !allocator.moving);
    json.member("blocks", allocator.blocks);
    json.member("bytes", allocator.bytes);
    json.member("counted_blocks", allocator.counted_blocks);
    json.member("counted_bytes", allocator.counted_bytes);
    json.member("referred_to_blocks", allocator.reached_blocks);
    json.member("referred_to_bytes", allocator.reached_bytes);
    json.member("in_port_queues_blocks", allocator.queued_blocks);
    json.member("in_port_queues_bytes", allocator.queued_bytes);
    json.member("differing_blocks", allocator.differing_blocks);
    json.member("differing_bytes", allocator.differing_bytes);
    json.member("lost_blocks", allocator.lost_blocks);
    json.member("lost_bytes", allocator.lost_bytes);
    if (allocator.lost_blocks) {
        json.member("searched_bytes", allocator.searched_bytes);
        json.member("unsearched_bytes", allocator.unsearched_bytes);
    }
    json.member("groups_total", allocator.group_count);
    write_objects(json, "groups", allocator.groups, [&json](const auto& group) {
        json.member("kind", group.kind);
        json.member("asked_by", group.asked_by);
        json.member("from_bytes", group.from_bytes);
        json.member("blocks", group.blocks);
        json.member("bytes", group.bytes);
        json.member("least_references", group.least_references);
        json.member("most_references", group.most_references);
        json.member("least_found", group.least_found);
        json.member("most_found", group.most_found);
        json.member("lost_blocks", group.lost_blocks);
        json.member("lost_bytes", group.lost_bytes);
        if (group.referred_to) {
            json.member("referred_to", true);
        }
        if (group.queued) {
            json.member("in_port_queue", true);
        }
        if (!group.first_bytes.empty()) {
            json.member("first_bytes", one_line(group.first_bytes));
            json.member("begin_so", group.begin_so);
        }
        json.member("example", fmt::format("{:#x}", group.example));
        json.member("example_owner", group.example_owner);
    });
}

}  // namespace

void memory_json(Output& output, const query::Memory& answer) {
    JsonWriter json(output, "beamdump.memory/1");
    write_dump(json, "dump", answer.dump);
    json.begin_object("categories");
    for (const auto& [name, bytes] : answer.categories) {
        json.member(name, bytes);
    }
    json.end_object();
    json.member("resident_bytes", answer.resident_bytes);
    json.member("swapped_bytes", answer.swapped_bytes);
    json.member("lazy_free_bytes", answer.lazy_free_bytes);
    if (!answer.cgroups.empty()) {
        write_objects(json, "cgroups", answer.cgroups, [&json](const auto& cgroup) {
            json.member("name", cgroup.name);
            json.member("used_bytes", cgroup.used_bytes);
            json.member("working_set_bytes", cgroup.working_set_bytes);
            json.member("limit_bytes", cgroup.limit_bytes);
            json.member("high_bytes", cgroup.high_bytes);
            json.member("swap_bytes", cgroup.swap_bytes);
            json.member("oom_kills", cgroup.oom_kills);
            json.member("limit_reached", cgroup.limit_reached);
        });
    }
    if (!answer.resident.empty()) {
        write_objects(json, "resident_parts", answer.resident, [&json](const auto& part) {
            json.member("name", part.name);
            json.member("bytes", part.bytes);
            json.member("blocks", part.blocks);
        });
    }
    json.member("unexplained_bytes", answer.unexplained_bytes);
    json.member("of_one_moment", answer.of_one_moment);
    json.member("allocator_free_bytes", answer.allocator_free_bytes);
    json.member("cached_segment_bytes", answer.cached_segment_bytes);
    json.member("binary_bytes", answer.binary_bytes);
    json.member("binary_count", answer.binary_count);
    json.member("code_bytes", answer.code_bytes);
    json.member("module_instances", answer.module_instances);
    json.member("atom_count", answer.atom_count);
    write_objects(json, "largest_processes", answer.largest,
                  [&json](const auto& line) { write_process_members(json, line); });
    write_objects(json, "largest_kinds", answer.kinds.groups, [&json](const auto& kind) {
        json.member("initial_call", kind.name);
        json.member("processes", kind.count);
        json.member("memory", kind.memory_bytes);
    });
    if (answer.tables) {
        write_objects(json, "largest_tables", answer.tables->tables, [&json](const auto& table) {
            json.member("id", table.id);
            json.member("name", table.name);
            json.member("owner", table.owner);
            json.member("owner_name", table.owner_name);
            json.member("owner_display_name", table.owner_display_name);
            json.member("size", table.size);
            json.member("memory_bytes", table.memory_bytes);
        });
    }
    if (answer.binary_sizes) {
        write_objects(json, "binary_sizes", *answer.binary_sizes, [&json](const auto& one) {
            json.member("from_bytes", one.from_bytes);
            json.member("below_bytes", one.below_bytes);
            json.member("binaries", one.binaries);
            json.member("bytes", one.bytes);
        });
    }
    if (answer.blocks) {
        json.member("processes_left_out", answer.blocks->processes_left_out);
        write_objects(json, "blocks", answer.blocks->allocators,
                      [&json](const auto& allocator) { write_allocator_blocks(json, allocator); });
    }
    json.finish();
}

}  // namespace beamdump::render
