#include "cli/commands.h"

#include "query/diff.h"
#include "query/heap.h"
#include "query/summary.h"
#include "render/diff.h"
#include "render/heap.h"
#include "render/messages.h"
#include "render/process_details.h"
#include "render/processes.h"
#include "render/sections.h"
#include "render/summary.h"
#include "render/table.h"
#include "render/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

std::string plural(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", render::count_text(count), what, count == 1 ? "" : "s");
}

/// What the shown terms lack, and why.
void tell_gaps(render::Output& err, const query::Backtrace& backtrace) {
    const query::Gaps gaps = backtrace.gaps();
    std::vector<std::string> parts;
    if (gaps.malformed > 0) {
        parts.push_back(plural(gaps.malformed, "place") + " whose words make no term");
    }
    if (gaps.absent > 0) {
        parts.push_back(plural(gaps.absent, "place") + " that the dump lacks");
    }
    if (gaps.partial_binaries > 0) {
        std::string part = plural(gaps.partial_binaries, "binary reference");
        part += " with the first bytes only";
        if (const auto prefix = backtrace.binary_prefix_bytes()) {
            part += fmt::format(" (captured with --binary-bytes {})", *prefix);
        }
        parts.push_back(std::move(part));
    }
    if (!parts.empty()) {
        tell(err, fmt::format("marked in the terms: {}", fmt::join(parts, "; ")));
    }
}

void tell_placeholders(render::Output& err, std::uint64_t placeholders) {
    if (placeholders > 0) {
        tell(err, fmt::format("{} marked in the terms: what could not be shown of them",
                              plural(placeholders, "place")));
    }
}

/// The outcome of a listing of one process's terms, whatever they are.
template <typename Listing>
Outcome tell_listing(render::Output& err, const Listing& listing, std::string_view what) {
    if (listing.withheld() == query::Withheld::kSensitive) {
        tell(err, fmt::format("{} is flagged sensitive, so its {} withheld; --sensitive shows them",
                              listing.line().pid, what));
    } else if (listing.withheld() == query::Withheld::kVoid) {
        tell(err,
             fmt::format("{} was {} when it was captured: its {} not in the dump",
                         listing.line().pid, listing.line().void_reason.value_or("void"), what));
    }
    tell_placeholders(err, listing.placeholders());
    return {listing.withheld() != query::Withheld::kNo || listing.placeholders() > 0};
}

void tell_withheld(render::Output& err, const query::Backtrace& backtrace) {
    if (backtrace.withheld() == query::Withheld::kSensitive) {
        tell(err,
             fmt::format("{} is flagged sensitive, so its stack is withheld; --sensitive shows "
                         "it",
                         backtrace.line().pid));
    } else if (backtrace.withheld() == query::Withheld::kVoid) {
        const std::string& detail = backtrace.void_detail();
        tell(err, fmt::format("{} was {} when it was captured{}{}, so the dump has no stack of it",
                              backtrace.line().pid, backtrace.line().void_reason.value_or("void"),
                              detail.empty() ? "" : ": ", render::one_line(detail)));
    }
}

}  // namespace

void tell(render::Output& err, std::string_view sentence) {
    err.print("beamdump-analyze: {}\n", render::one_line(sentence));
}

Result<Outcome> summary_command(Dump& dump, const Options& options, render::Output& out) {
    auto summary = query::summarize(dump, options.dump);
    if (!summary) {
        return std::unexpected(summary.error());
    }
    (options.json ? render::summary_json : render::summary_text)(out, *summary);
    return Outcome{};
}

Result<Outcome> processes_command(Dump& dump, const Options& options, render::Output& out) {
    auto listing = query::ProcessListing::select(dump, options.processes);
    if (!listing) {
        return std::unexpected(listing.error());
    }
    const auto render = options.json ? render::processes_json : render::processes_text;
    if (auto done = render(out, *listing, query::dump_facts(dump, options.dump)); !done) {
        return std::unexpected(done.error());
    }
    return Outcome{};
}

Result<Outcome> process_command(Dump& dump, const Options& options, render::Output& out,
                                render::Output& err) {
    auto details = query::process_details(dump, options.dump, options.process, options.details);
    if (!details) {
        return std::unexpected(details.error());
    }
    (options.json ? render::process_details_json : render::process_details_text)(out, *details);
    tell_placeholders(err, details->placeholders);
    return Outcome{details->line.void_reason.has_value() || details->withheld ||
                   details->placeholders > 0};
}

Result<Outcome> messages_command(Dump& dump, const Options& options, render::Output& out,
                                 render::Output& err) {
    auto listing =
        query::MessageListing::open(dump, options.dump, options.process, options.messages);
    if (!listing) {
        return std::unexpected(listing.error());
    }
    const auto render = options.json ? render::messages_json : render::messages_text;
    if (auto done = render(out, **listing); !done) {
        return std::unexpected(done.error());
    }
    return tell_listing(err, **listing, "messages are");
}

Result<Outcome> dictionary_command(Dump& dump, const Options& options, render::Output& out,
                                   render::Output& err) {
    auto listing =
        query::DictionaryListing::open(dump, options.dump, options.process, options.dictionary);
    if (!listing) {
        return std::unexpected(listing.error());
    }
    const auto render = options.json ? render::dictionary_json : render::dictionary_text;
    if (auto done = render(out, **listing); !done) {
        return std::unexpected(done.error());
    }
    return tell_listing(err, **listing, "dictionary's entries are");
}

Result<Outcome> backtrace_command(Dump& dump, const Options& options, render::Output& out,
                                  render::Output& err) {
    auto opened = query::Backtrace::open(dump, options.dump, options.process, options.backtrace);
    if (!opened) {
        return std::unexpected(opened.error());
    }
    query::Backtrace& backtrace = **opened;
    const auto render = options.json    ? render::backtrace_json
                        : options.lines ? render::backtrace_lines
                                        : render::backtrace_text;
    const bool cut = render(out, backtrace, options.backtrace_format);
    out.flush();
    if (!out.ok()) {
        return Outcome{};
    }
    if (cut) {
        tell(err, fmt::format("the text was cut after {} bytes (--max-bytes)",
                              options.backtrace_format.max_bytes));
    }
    tell_withheld(err, backtrace);
    tell_gaps(err, backtrace);
    return Outcome{backtrace.withheld() != query::Withheld::kNo || backtrace.gaps().total() > 0};
}

Result<Outcome> heap_command(Dump& dump, const Options& options, render::Output& out,
                             render::Output& err) {
    auto report = query::heap_report(dump, options.dump, options.process, options.heap);
    if (!report) {
        return std::unexpected(report.error());
    }
    (options.json ? render::heap_json : render::heap_text)(out, *report);
    if (report->unreadable > 0) {
        tell(err, fmt::format("the sizes leave out {} whose words are not in the dump or make no "
                              "term",
                              plural(report->unreadable, "place")));
    }
    return Outcome{report->withheld || report->unreadable > 0};
}

Result<Outcome> sections_command(Dump& dump, const Options& options, render::Output& out) {
    auto listing = query::SectionListing::open(dump, options.dump, options.sections);
    if (!listing) {
        return std::unexpected(listing.error());
    }
    const auto render = options.json ? render::sections_json : render::sections_text;
    if (auto done = render(out, **listing); !done) {
        return std::unexpected(done.error());
    }
    return Outcome{};
}

Result<Outcome> diff_command(Dump& before, Dump& after, const Options& options,
                             render::Output& out) {
    auto diff =
        query::diff_dumps(before, options.dump, after, options.later_dump, options.diff_limit);
    if (!diff) {
        return std::unexpected(diff.error());
    }
    (options.json ? render::diff_json : render::diff_text)(out, *diff);
    return Outcome{};
}

}  // namespace beamdump::cli
