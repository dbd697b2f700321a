#include "cli/holders.h"

#include "cli/every_process.h"
#include "render/holders.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace beamdump::cli {

Outcome report_search_gaps(Invocation& invocation, const query::ProcessesRead& read,
                           std::uint64_t undecoded_messages, std::uint64_t unreadable,
                           const query::NodeSweepCounts& node) {
    Outcome outcome = report_processes_read(invocation, read);
    if (undecoded_messages != 0) {
        invocation.report(
            fmt::format("not searched: {} from other nodes that the receiver has not "
                        "decoded yet",
                        counted(undecoded_messages, "message")));
    }
    if (unreadable != 0) {
        invocation.report(
            fmt::format("not searched: {} with terms that are invalid or not in the "
                        "dump",
                        counted(unreadable, "place")));
    }
    for (const auto& sentence : query::not_searched(node)) {
        invocation.report("not searched: " + sentence);
    }
    if (node.tables_without != 0) {
        invocation.report(
            fmt::format("not searched: rows of {} that the dump lacks; "
                        "beamdump-capture --ets full captures all",
                        counted(node.tables_without, "ETS table")));
    }
    if (node.compressed_rows != 0) {
        invocation.report(fmt::format("not searched: {} of compressed ETS tables",
                                      counted(node.compressed_rows, "row")));
    }
    outcome.incomplete = outcome.incomplete || undecoded_messages != 0 || unreadable != 0 ||
                         node.tables_without != 0 || node.compressed_rows != 0;
    return outcome;
}

void add_most_bytes(CLI::App& app, HolderQuestion& question) {
    add_size(app, "--max-bytes", question.most_bytes,
             "Show at most SIZE bytes of a binary and of a part (default 256)");
}

Result<void> check_most_bytes(const HolderQuestion& question) {
    return question.most_bytes <= query::BinaryBeginning::kMostOfAll
               ? Result<void>()
               : fail(ErrorCode::kUsage, "--max-bytes is 1MiB at most");
}

Result<Outcome> answer_holders(Invocation& invocation, const HolderQuestion& question,
                               const AnswerOptions& options, TermOptions& terms) {
    ASSIGN_OR_RETURN(auto dump, invocation.open(question.dump, all_heaps()));
    RETURN_IF_ERROR(terms.apply(invocation, *dump));
    ASSIGN_OR_RETURN(auto parsed, query::parse_target(*dump, question.target));
    ASSIGN_OR_RETURN(const auto target,
                     query::resolve_target(*dump, std::move(parsed), invocation.limits()));
    std::optional<query::CapturedBinary> content;
    std::optional<query::BinaryBeginning> binary;
    if (target.kind == query::RefTarget::Kind::kBinary) {
        ASSIGN_OR_RETURN(content, query::CapturedBinary::open(*dump, target.number));
        ASSIGN_OR_RETURN(binary, content->beginning(question.most_bytes));
    }
    const auto references = binary ? binary->references : std::nullopt;
    render::Output& out = fitted(invocation.out(), options);
    const auto facts = query::dump_facts(*dump, question.dump);
    std::optional<render::JsonWriter> json;
    if (options.json) {
        json.emplace(out, question.schema);
        render::holders_json_begin(*json, facts, target, binary);
    } else {
        render::holders_text_begin(out, facts, target, binary);
    }
    ReadingProgress progress(invocation, "searching processes");
    std::uint64_t shown = 0;
    std::optional<Error> unread;
    query::RefsOptions refs;
    refs.sensitive = question.sensitive;
    refs.limits = invocation.limits();
    refs.progress = progress.callback();
    refs.found = [&](const query::HolderLine& line) {
        if (question.limit != 0 && shown == question.limit) {
            return;
        }
        ++shown;
        progress.end();
        std::string shown_part;
        if (content && line.slice) {
            auto part =
                content->part(line.slice->first, std::min(line.slice->bytes, question.most_bytes));
            if (!part) {
                unread = std::move(part.error());
            } else if (line.slice->first + part->size() > binary->first.size()) {
                shown_part = std::move(*part);  // else it stands above
            }
        }
        json ? render::holder_json(*json, line, shown_part)
             : render::holder_text(out, facts.names, line, shown_part);
    };
    auto answer = query::find_holders(*dump, target, refs);
    progress.end();
    if (!answer) {
        return std::unexpected(answer.error());
    }
    if (unread) {
        return std::unexpected(std::move(*unread));
    }
    if (json) {
        render::holders_json_end(*json, *answer, references);
    } else {
        render::holders_text_end(out, *answer, shown, references);
    }
    return report_search_gaps(invocation, answer->read, answer->undecoded_messages,
                              answer->unreadable, answer->node);
}

}  // namespace beamdump::cli
