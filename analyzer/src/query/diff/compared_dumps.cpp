#include "query/diff/compared_dumps.h"

#include <libdump/model/node_scheme.h>

#include <utility>

namespace beamdump::query {

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
    return diff;
}

}  // namespace beamdump::query
