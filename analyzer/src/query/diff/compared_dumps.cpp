#include "query/diff/compared_dumps.h"

#include "query/diff/node_run.h"

#include <libdump/model/node_scheme.h>

#include <utility>

namespace beamdump::query {

DiffContext make_context(const std::vector<DiffInput>& inputs, const DiffOptions& options) {
    DiffContext context{.dumps = {}, .times_us = {}, .options = options};
    for (const DiffInput& input : inputs) {
        ComparedDump dump;
        dump.dump = input.dump;
        dump.facts = dump_facts(*input.dump, input.file);
        dump.of_crash_dump = is_of_crash_dump(*input.dump);
        dump.whole = !dump.facts.damage && input.dump->capture().cut_off().empty();
        context.any_crash_dump |= dump.of_crash_dump;
        context.times_us.push_back(dump.facts.captured_us);
        context.dumps.push_back(std::move(dump));
    }
    for (std::size_t next = 1; next < context.dumps.size(); ++next) {
        const ComparedDump& before = context.dumps[next - 1];
        const ComparedDump& after = context.dumps[next];
        context.same_run &= same_run(*before.dump, before.facts, *after.dump, after.facts);
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
    return diff;
}

}  // namespace beamdump::query
