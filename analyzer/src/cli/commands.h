#pragma once

#include "cli/options.h"
#include "render/output.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

namespace beamdump::cli {

/// What came of a command.
struct Outcome {
    bool incomplete = false;  ///< void or withheld process, gaps in the terms
};

Result<Outcome> summary_command(Dump& dump, const Options& options, render::Output& out);
Result<Outcome> processes_command(Dump& dump, const Options& options, render::Output& out);
Result<Outcome> process_command(Dump& dump, const Options& options, render::Output& out,
                                render::Output& err);
Result<Outcome> messages_command(Dump& dump, const Options& options, render::Output& out,
                                 render::Output& err);
Result<Outcome> dictionary_command(Dump& dump, const Options& options, render::Output& out,
                                   render::Output& err);
Result<Outcome> backtrace_command(Dump& dump, const Options& options, render::Output& out,
                                  render::Output& err);
Result<Outcome> heap_command(Dump& dump, const Options& options, render::Output& out,
                             render::Output& err);
Result<Outcome> sections_command(Dump& dump, const Options& options, render::Output& out);
Result<Outcome> diff_command(Dump& before, Dump& after, const Options& options,
                             render::Output& out);
Result<Outcome> crash_dump_command(Dump& dump, const Options& options, render::Output& out,
                                   render::Output& err);
/// Opens and writes its files itself.
Result<Outcome> convert_command(const Options& options, render::Output& out, render::Output& err);

/// One line on standard error: "beamdump-analyze: ...".
void tell(render::Output& err, std::string_view sentence);

}  // namespace beamdump::cli
