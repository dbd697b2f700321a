#include "query/opened_process.h"

#include "query/term_text.h"

#include <utility>

namespace beamdump::query {

Withheld terms_withheld(const ProcessRun& run, bool sensitive) {
    if (run.is_void()) {
        return Withheld::kVoid;
    }
    return run.process.sensitive() && !sensitive ? Withheld::kSensitive : Withheld::kNo;
}

OpenedProcess::OpenedProcess(Dump& dump, ProcessRun opened_run, const TagScheme& node_scheme)
    : run(std::move(opened_run)),
      context(dump, run),
      scheme(node_scheme),
      line(process_line(dump, run.row)) {}

ProcessStack OpenedProcess::stack() const {
    return {.instruction = run.process.instruction_address(),
            .top = run.process.stack_top_address(),
            .bottom = run.process.heap_end_address()};
}

Result<std::unique_ptr<OpenedProcess>> open_process(Dump& dump, std::string_view name) {
    auto row = dump.find_process(name);
    if (!row) {
        return std::unexpected(row.error());
    }
    auto run = ProcessRun::load(dump.reader(), *row);
    if (!run) {
        return std::unexpected(run.error());
    }
    auto scheme = node_scheme(dump);
    if (!scheme) {
        return std::unexpected(scheme.error());
    }
    return std::make_unique<OpenedProcess>(dump, std::move(*run), *scheme);
}

}  // namespace beamdump::query
