#include "query/diff/diff.h"

#include "query/diff/growth.h"
#include "query/diff/section.h"
#include "query/exported/exported_things.h"
#include "query/memory/node_memory.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace beamdump::query {

// A new section is a DiffSource in the file of sources that compares such things, and a line here.
#define BEAMDUMP_DIFF_SOURCES(SOURCE) \
    SOURCE(memory)                    \
    SOURCE(processes)                 \
    SOURCE(registered_names)          \
    SOURCE(groups)                    \
    SOURCE(mailboxes)                 \
    SOURCE(ets_tables)                \
    SOURCE(ets_names)                 \
    SOURCE(persistent_terms)          \
    SOURCE(binary_holders)            \
    SOURCE(binaries)                  \
    SOURCE(atoms)                     \
    SOURCE(modules)                   \
    SOURCE(ports)                     \
    SOURCE(sockets)

#define BEAMDUMP_DECLARE(NAME) const DiffSource& NAME##_diff_source();
BEAMDUMP_DIFF_SOURCES(BEAMDUMP_DECLARE)
#undef BEAMDUMP_DECLARE

DiffContext make_context(const std::vector<DiffInput>& inputs, const DiffOptions& options) {
    DiffContext context{.dumps = {}, .times_us = {}, .options = options};
    for (const DiffInput& input : inputs) {
        ComparedDump dump;
        if (input.exported != nullptr) {
            dump.exported = input.exported;
            dump.facts = input.exported->facts();
            dump.run = input.exported->run();
            dump.of_crash_dump = input.exported->of_crash_dump();
            dump.whole = input.exported->whole();
        } else {
            dump.dump = input.dump;
            dump.facts = dump_facts(*input.dump, input.file);
            dump.run = node_run(*input.dump, dump.facts.node_name);
            dump.of_crash_dump = is_of_crash_dump(*input.dump);
            dump.whole = !dump.facts.damage && dump.facts.text_complete.value_or(true);
        }
        dump.form = dump.of_crash_dump ? DumpForm::of_text() : DumpForm();
        context.any_export |= dump.exported != nullptr;
        context.any_crash_dump |= dump.of_crash_dump;
        context.times_us.push_back(dump.facts.captured_us);
        context.dumps.push_back(std::move(dump));
    }
    for (std::size_t next = 1; next < context.dumps.size(); ++next) {
        context.same_run &= same_run(context.dumps[next - 1].run, context.dumps[next].run);
    }
    return context;
}

DumpsDiff begin_diff(const DiffContext& context) {
    DumpsDiff diff;
    for (const ComparedDump& dump : context.dumps) {
        diff.dumps.push_back(dump.facts);
    }
    diff.times_us = context.times_us;
    diff.same_run = context.same_run;
    const auto* first = context.dumps.front().dump;
    const auto* last = context.dumps.back().dump;
    if (diff.same_run && first != nullptr && last != nullptr) {
        diff.starts = process_starts_between(*first, *last);
    }
    return diff;
}

namespace {

/// The readings that the last dump has from the first one on; of one run of a node.
Result<std::optional<History>> history_between(const DiffContext& context) {
    const auto& last = context.dumps.back();
    const auto& begin = context.times_us.front();
    if (!context.same_run || last.dump == nullptr || !begin || *begin < 0 ||
        last.dump->trailer().history_offset().empty()) {
        return std::optional<History>();
    }
    ASSIGN_OR_RETURN(auto history, read_history(*last.dump, last.facts.file));
    return history_from(std::move(history), static_cast<std::uint64_t>(*begin));
}

/// All sections, in the order of the answer.
std::span<const DiffSource* const> diff_sources() {
#define BEAMDUMP_LIST(NAME) &NAME##_diff_source(),
    static const std::array kSources = {BEAMDUMP_DIFF_SOURCES(BEAMDUMP_LIST)};
#undef BEAMDUMP_LIST
    return kSources;
}

#undef BEAMDUMP_DIFF_SOURCES

/// All memory of the node: what erlang:memory(total) says, what is resident, or what is known.
Result<std::optional<std::uint64_t>> memory_of(const DiffInput& input) {
    const ExportFile* exported = input.exported;
    ASSIGN_OR_RETURN(const auto categories, exported != nullptr ? exported_memory(*exported)
                                                                : memory_categories(*input.dump));
    for (const auto& [category, bytes] : categories) {
        if (category == "total") {
            return std::optional(bytes);
        }
    }
    if (exported != nullptr) {
        const auto processes = exported->fact("process_memory");
        const auto binaries = exported->fact("binary_memory");
        const auto resident = exported->fact("resident_bytes");
        return resident || !processes ? resident : std::optional(*processes + binaries.value_or(0));
    }
    Dump& dump = *input.dump;
    if (dump.node().has_resident_bytes()) {
        return std::optional<std::uint64_t>(dump.node().resident_bytes());
    }
    const auto& totals = dump.trailer().totals();
    return totals.has_process_memory_bytes() && totals.has_binary_bytes()
               ? std::optional<std::uint64_t>(totals.process_memory_bytes() + totals.binary_bytes())
               : std::nullopt;
}

Result<void> add_section(DiffContext& context, const DiffSource& source, GrowthList& growth,
                         DumpsDiff& diff) {
    ThingTable table(context.dumps.size());
    for (std::size_t number = 0; number < context.dumps.size(); ++number) {
        RETURN_IF_ERROR(source.read(context, number, table));
    }
    DiffSection section = make_section(context, source.kind, table);
    auto grown = growth.of(source.kind, table);
    std::vector<ThingChange*> shown;
    for (auto* list : {&section.grown_most, &section.gone_most, &section.changed_most, &grown}) {
        for (ThingChange& change : *list) {
            shown.push_back(&change);
        }
    }
    if (source.describe != nullptr) {
        RETURN_IF_ERROR(source.describe(context, table, shown));
    }
    const auto& names = context.dumps.back().facts.names;
    for (auto* change : shown) {
        change->title = names.sentence(change->title);
    }
    diff.sections.push_back(std::move(section));
    std::ranges::move(grown, std::back_inserter(diff.growth));
    return {};
}

}  // namespace

bool DumpsDiff::has_growth() const {
    return std::ranges::any_of(growth, [this](const ThingChange& change) {
        return dumps.size() == 2 || change.steady.value_or(false);
    });
}

Result<DumpsDiff> diff_dumps(const std::vector<DiffInput>& inputs, const DiffOptions& options) {
    DiffContext context = make_context(inputs, options);
    DumpsDiff diff = begin_diff(context);
    ASSIGN_OR_RETURN(diff.memory_bytes, memory_of(inputs.back()));
    ASSIGN_OR_RETURN(diff.history, history_between(context));
    GrowthList growth(context, diff.memory_bytes);
    for (const DiffSource* source : diff_sources()) {
        auto added = add_section(context, *source, growth, diff);
        if (!added) {
            return wrap("comparing " + std::string(source->kind.name), std::move(added.error()));
        }
    }
    GrowthList::sort(diff.growth);
    diff.read = context.read;
    return diff;
}

}  // namespace beamdump::query
