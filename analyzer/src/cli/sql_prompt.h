#pragma once

#include "render/shared/output.h"

#include <libdump/base/error.h>

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// Answers a statement; ends with an error soon after the stop request.
using AnswerStatement =
    std::function<Result<void>(const std::string& statement, std::stop_token stop)>;

/// Reads statements from the terminal, each up to its `;`, and answers them until the end of the
/// input or `.quit`. Names of tables, columns and functions are completed. Ctrl-C cancels what is
/// entered or answered; errors are told on `err`, and the prompt goes on. `begin` comes first: what
/// starts threads belongs there, as they must not take the signal. kUsage: standard input or output
/// is no terminal.
Result<void> answer_at_prompt(render::Output& out, render::Output& err,
                              const std::function<Result<void>()>& begin,
                              const AnswerStatement& answer);

/// The names that complete `word` at the end of a statement so far: the columns of the tables that
/// it names, or all; tables, functions and keywords. Sorted, each once.
std::vector<std::string> completions(std::string_view statement, std::string_view word);

}  // namespace beamdump::cli
