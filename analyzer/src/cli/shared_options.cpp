#include "cli/shared_options.h"

#include <libdump/base/byte_amount.h>
#include <libdump/base/decimal.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

namespace beamdump::cli {

namespace {

crash::ConvertChoice choice_of(crash::ConvertChoice::Heaps heaps, std::string process) {
    crash::ConvertChoice choice;
    choice.heaps = heaps;
    choice.process = std::move(process);
    choice.other_sections = false;
    return choice;
}

/// The choice of one process: `bytes` as ConvertChoice::lazily_from.
crash::ConvertChoice lazily_from(std::uint64_t bytes, const std::string& process) {
    auto choice = choice_of(crash::ConvertChoice::Heaps::kOne, process);
    choice.lazily_from = bytes;
    return choice;
}

/// A size of byte_amount(), as the number that the option takes.
CLI::Validator size_value() {
    const auto to_bytes = [](std::string& text) {
        const auto bytes = byte_amount(text);
        if (!bytes) {
            return fmt::format("\"{}\" is not a size such as 500MB or 4GiB", text);
        }
        text = fmt::to_string(*bytes);
        return std::string();
    };
    return {to_bytes, ""};
}

}  // namespace

void add_json(CLI::App& app, bool& json) {
    app.add_flag("--json", json, "Answer as JSON (see schemas/json)");
}

void add_answer(CLI::App& app, AnswerOptions& answer) {
    app.add_flag("--wide", answer.wide,
                 "Do not cut lines to the width of the terminal (output to files and pipes is "
                 "never cut)");
    add_json(app, answer.json);
}

void add_term_bytes(CLI::App& app, std::size_t& bytes, AnswerOptions& answer,
                    const std::string& what) {
    add_count(app, "--term-bytes", bytes,
              fmt::format("Truncate each {} to N bytes (0: never; default {}), and do not cut "
                          "lines to the width of the terminal",
                          what, bytes))
        ->each([&answer](const std::string&) { answer.wide = true; });
}

render::Output& fitted(render::Output& out, const AnswerOptions& answer) {
    if (!answer.wide && !answer.json) {
        out.fit_terminal();
    }
    return out;
}

void add_dump(CLI::App& app, std::string& dump) {
    app.add_option("DUMP", dump, "The dump")->required();
}

void add_dump_and_process(CLI::App& app, std::string& dump, std::string& process) {
    add_dump(app, dump);
    app.add_option("PROCESS", process, "A pid (<0.123.0> or 0.123.0) or a registered name")
        ->required();
}

CLI::Option* add_number(CLI::App& app, const std::string& name,
                        std::function<void(std::uint64_t)> take, const std::string& description) {
    const auto set = [take = std::move(take)](const CLI::results_t& texts) {
        const auto value = decimal_number(texts.front());
        if (value) {
            take(*value);
        }
        return value.has_value();
    };
    const auto check = [](const std::string& text) {
        return decimal_number(text) ? std::string()
                                    : fmt::format("\"{}\" is not a number of 0 or more", text);
    };
    return app.add_option(name, set, description)->check(check, "")->option_text("N");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& size,
                      const std::string& description) {
    return app.add_option(name, size, description)->transform(size_value())->option_text("SIZE");
}

void add_filter(CLI::App& app, std::vector<std::string>& filters, const std::string& what) {
    app.add_option("--filter", filters, what + ". Repeatable; all filters must match")
        ->type_size(1)
        ->allow_extra_args(false)
        ->option_text("TEXT");
}

void add_sort(CLI::App& app, std::string& sort, const std::string& description) {
    app.add_option("--sort", sort, description)->option_text("COLUMN[,-COLUMN]");
}

void add_group_by(CLI::App& app, std::vector<std::string>& fields, const std::string& description) {
    app.add_option("--group-by", fields, description)
        ->delimiter(',')
        ->type_size(1)
        ->allow_extra_args(false)
        ->option_text("FIELD[,FIELD]");
}

void add_limits(CLI::App& app, InputLimits& limits) {
    add_size(app, "--max-memory", limits.memory,
             "Memory limit for data that grows with the dump (default 1GiB): larger tables go to "
             "temporary files; a crash dump whose names or processes need more is refused");
    app.add_option("--max-temporary", limits.temporary,
                   "Limit for temporary files in TMPDIR or /var/tmp (default: half of the free "
                   "space, at most 64GiB)")
        ->transform(size_value())
        ->option_text("SIZE");
}

void add_findings_depth(CLI::App& app, std::string& depth) {
    app.add_option("--findings", depth,
                   "How far to look for problems: quick (default), by tables and the few "
                   "processes that these point at, or full, by the terms of all processes")
        ->type_name("DEPTH");
}

CLI::Option* add_output(CLI::App& app, OutputChoice& output, const std::string& description) {
    CLI::Option* option =
        app.add_option("-o,--output", output.path, description)->option_text("FILE");
    app.add_flag("--force", output.force, "Replace an existing file");
    return option;
}

crash::ConvertChoice no_heaps() {
    return choice_of(crash::ConvertChoice::Heaps::kNone, {});
}

crash::ConvertChoice heap_of(const std::string& process) {
    return choice_of(crash::ConvertChoice::Heaps::kOne, process);
}

crash::ConvertChoice lazy_heap_of(const std::string& process) {
    return lazily_from(0, process);
}

crash::ConvertChoice large_heap_lazily_of(const std::string& process) {
    // Less text is read in some tenths of a second.
    constexpr std::uint64_t kLargeText = 64U << 20U;
    return lazily_from(kLargeText, process);
}

crash::ConvertChoice all_heaps() {
    return choice_of(crash::ConvertChoice::Heaps::kAll, {});
}

}  // namespace beamdump::cli
