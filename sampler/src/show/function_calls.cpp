#include "show/function_calls.h"

#include <libdump/base/terminal_text.h>
#include <libdump/profile/report_parts.h>
#include <libdump/text/json_writer.h>
#include <libdump/text/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

namespace beamdump::sampler {
namespace {

constexpr std::string_view kUnknown = "-";

/// Small numbers with a decimal place.
std::string rounded(double value) {
    return value < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string a_second(const FunctionCallsReport& report, double calls) {
    return rounded(report.took_ns > 0 ? calls / (static_cast<double>(report.took_ns) / 1e9) : 0);
}

std::string at_least(const FunctionCallsReport& report, double calls) {
    return (report.calls_are_least() ? ">= " : "") + a_second(report, calls);
}

std::array<std::string, 2> words_cells(const std::optional<WordsOfCall>& words) {
    if (!words) {
        return {std::string(kUnknown), std::string(kUnknown)};
    }
    return {rounded(words->words), fmt::format("{:.1f}", words->error)};
}

void callers(Output& output, const FunctionCallsReport& report, const CalledFunction& function,
             std::size_t most) {
    if (function.callers.empty()) {
        return;
    }
    print_title(output, fmt::format("Callers of {}", one_line(function.name)));
    Table table({{"CALLS/S", Align::kRight},
                 {"SHARE", Align::kRight},
                 {"WORDS/CALL", Align::kRight},
                 {"ERROR", Align::kRight},
                 {"RETURNS TO"}});
    for (const auto& caller : function.callers | std::views::take(most)) {
        const auto [words, error] = words_cells(caller.words);
        table.add({at_least(report, caller.calls),
                   fmt::format("{:.1f}%", 100 * caller.calls / function.calls), words, error,
                   one_line(caller.function)});
    }
    table.print(output);
    if (function.callers.size() > most) {
        output.print("... {} further callers (--limit)\n", function.callers.size() - most);
    }
}

std::uint64_t whole(double value) {
    return static_cast<std::uint64_t>(std::llround(value));
}

std::uint64_t thousandths(double value) {
    return whole(1000 * value);
}

void write_words_of_call(JsonWriter& json, const std::optional<WordsOfCall>& words) {
    if (words) {
        json.begin_object("words_of_call");
        json.member("milliwords", thousandths(words->words));
        json.member("milliwords_error", thousandths(words->error));
        json.member("calls_permille", thousandths(words->share));
        json.end_object();
    }
}

}  // namespace

void function_calls_text(Output& output, const FunctionCallsReport& report, std::size_t most) {
    node_line(output, report);
    output.print("{} windows in which calls were counted, {:.2f} s in all\n", report.windows,
                 static_cast<double>(report.set_ns) / 1e9);
    print_title(output, "Calls");
    Table table({{"CALLS/S", Align::kRight},
                 {"ERROR", Align::kRight},
                 {"COUNTED", Align::kRight},
                 {"WORDS/CALL", Align::kRight},
                 {"ERROR", Align::kRight},
                 {"MEASURED", Align::kRight},
                 {"COLLECTED", Align::kRight},
                 {"NOT ENDED", Align::kRight},
                 {"FUNCTION"}});
    for (const auto& function : report.functions) {
        const auto [words, error] = words_cells(function.words);
        table.add({at_least(report, function.calls), a_second(report, function.calls_error),
                   fmt::format("{}", function.counted), words, error,
                   fmt::format("{}", function.measured), fmt::format("{}", function.collected),
                   fmt::format("{}", function.not_ended), one_line(function.name)});
    }
    table.print(output);
    for (const auto& function : report.functions) {
        callers(output, report, function, most);
    }
    output.write("\n");
    output.write(
        "COUNTED is the number of all calls in the windows, CALLS/S what it is a second; ERROR is "
        "half of the 95% interval.\n"
        "WORDS/CALL is what a call and all that it calls build on the heap, the mean of the "
        "MEASURED calls. Not in it: calls during\nwhich the heap was COLLECTED, or that were NOT "
        "seen to END in a window; large binaries, and terms in fragments.\n");
    if (report.calls_are_least()) {
        output.print(
            "Counting took {:.0f}% of the busiest scheduler's time in the windows{}: without it "
            "there are more calls.\n",
            100 * report.slowed,
            report.held_back != 0 ? ", and the kernel did not count all the time" : "");
    }
    lost_line(output, report);
    not_sampled_lines(output, report);
}

void function_calls_json(Output& output, const FunctionCallsReport& report) {
    JsonWriter json(output, "beamdump.alloc-functions/1");
    write_node(json, report);
    json.member("began_us", report.began_us);
    json.member("took_ns", report.took_ns);
    json.member("windows", report.windows);
    json.member("set_ns", report.set_ns);
    json.member("slowed_permille", thousandths(report.slowed));
    json.member("calls_are_least", report.calls_are_least());
    json.member("held_back", report.held_back);
    json.member("lost", report.lost);
    write_objects(json, "functions", report.functions, [&](const CalledFunction& function) {
        json.member("function", function.name);
        json.member("counted", function.counted);
        json.member("calls", whole(function.calls));
        json.member("calls_error", whole(function.calls_error));
        write_words_of_call(json, function.words);
        json.member("measured", function.measured);
        json.member("collected", function.collected);
        json.member("not_ended", function.not_ended);
        write_objects(json, "callers", function.callers, [&](const CallerOfFunction& caller) {
            json.member("function", caller.function);
            json.member("calls", whole(caller.calls));
            json.member("samples", caller.samples);
            write_words_of_call(json, caller.words);
        });
    });
    write_not_sampled(json, report);
    write_remarks(json, report);
    json.finish();
}

}  // namespace beamdump::sampler
