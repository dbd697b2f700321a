#include "query/process/opened_process.h"

#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <algorithm>
#include <span>
#include <utility>

namespace beamdump::query {

OpenedProcess::OpenedProcess(Dump& dump, ProcessRun opened_run, const TagScheme& node_scheme)
    : run(std::move(opened_run)),
      scheme(node_scheme),
      line(process_line(dump, run.row)),
      context_(dump.context_of(run)) {
    // The VM of OTP 25 prints the inner nodes of a large map, by bitmaps that a crash dump lacks.
    scheme.large_maps_as_pairs = true;
}

ProcessStack OpenedProcess::stack() const {
    return {.instruction = run.process.instruction_address(),
            .top = run.process.stack_top_address(),
            .bottom = run.process.heap_end_address()};
}

Result<std::vector<std::uint64_t>> OpenedProcess::arguments() {
    const records::Process& facts = run.process;
    std::vector<std::uint64_t> words(facts.argument_words().begin(), facts.argument_words().end());
    const auto more = std::ranges::find_if(run.directory.regions, [&facts](const Region& region) {
        return region.kind == format::RegionKind::kArguments &&
               region.address == facts.argument_array_address();
    });
    if (more != run.directory.regions.end()) {
        words.resize(more->here);
        std::size_t got = 0;
        while (got < words.size()) {
            auto some =
                context().words(more->address + got * kWordBytes, std::span(words).subspan(got));
            if (!some) {
                return wrap("reading the argument registers", std::move(some.error()));
            }
            got += *some;
        }
    }
    words.resize(std::min<std::size_t>(words.size(), facts.arity()));
    return words;
}

Result<std::unique_ptr<OpenedProcess>> open_process(Dump& dump, std::string_view name,
                                                    HeapUse use) {
    ASSIGN_OR_RETURN(auto row, dump.find_process(name));
    ASSIGN_OR_RETURN(auto run, ProcessRun::load(dump.reader(), row));
    ASSIGN_OR_RETURN(auto scheme, node_scheme(dump));
    dump.text_damage().tell_process(dump.trailer(), run.end, use == HeapUse::kWhole);
    auto process = std::make_unique<OpenedProcess>(dump, std::move(run), scheme);
    ProcessNames(dump).add_to(*process);
    return process;
}

}  // namespace beamdump::query
