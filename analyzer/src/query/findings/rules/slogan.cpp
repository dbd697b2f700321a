#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace beamdump::query {

namespace {

/// The text between `before` and the next `after`; nullopt where either is missing.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
    const auto begin = text.find(before);
    if (begin == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(begin + before.size());
    const auto end = text.find(after);
    return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

/// " The thread that asked for it ran shop (<0.90.0>).", where the dump tells.
Result<std::string> caller(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* process, facts.calling_process());
    return process == nullptr
               ? std::string()
               : fmt::format(" The thread that asked for it ran {}.", process_with_name(*process));
}

/// `eheap_alloc: Cannot allocate 6801972448 bytes of memory (of type "heap").` (erl_alloc.c,
/// erts_alc_fatal_error(); OTP 25 to 29).
Result<std::optional<Finding>> out_of_memory(NodeFacts& facts, std::string_view slogan) {
    auto amount = between(slogan, ": Cannot allocate ", " bytes of memory");
    amount = amount ? amount : between(slogan, ": Cannot reallocate ", " bytes of memory");
    const auto bytes = amount ? decimal_number(*amount) : std::nullopt;
    if (!bytes) {
        return std::nullopt;
    }
    const auto type = between(slogan, "(of type \"", "\"").value_or("unknown");
    Finding finding;
    finding.figures = {{"requested_bytes", *bytes}, {"type", std::string(type)}};
    finding.command = facts.command("processes", {"--sort", "memory"});
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    ASSIGN_OR_RETURN(const auto asked, caller(facts));
    if (*bytes > kLargest) {
        finding.sentence = fmt::format(
            "The node ended as {} bytes were asked for (for \"{}\"), a size that had become "
            "negative or overflowed: not for lack of memory.{}",
            count_text(*bytes), type, asked);
        return finding;
    }
    const bool heap = type == "heap" || type == "old_heap" || type == "heap_frag";
    finding.sentence = fmt::format(
        "The node ended as it could not get {} of memory for {}.{}", bytes_text(*bytes),
        heap ? std::string("the heap of a process") : fmt::format("\"{}\"", type), asked);
    return finding;
}

/// `no more index entries in atom_tab (max=1048576)` (index.c, index_put_entry(); OTP 25 to 29).
Result<std::optional<Finding>> full_table(NodeFacts& facts, std::string_view slogan) {
    const auto table = between(slogan, "no more index entries in ", " ");
    if (!table) {
        return std::nullopt;
    }
    const auto limit = decimal_number(between(slogan, "(max=", ")").value_or(""));
    const bool atoms = *table == "atom_tab";
    Finding finding;
    finding.figures = {{"table", std::string(*table)}};
    if (limit) {
        finding.figures.push_back({"limit", *limit});
    }
    ASSIGN_OR_RETURN(const auto asked, caller(facts));
    finding.sentence = fmt::format(
        "The node ended as its table of {} was full{}.{}",
        atoms                     ? "atoms"
        : *table == "module_code" ? "modules"
                                  : *table,
        limit ? fmt::format(" ({} entries)", count_text(*limit)) : std::string(), asked);
    finding.command = atoms ? facts.command("atoms") : facts.command("sections", {"index_table"});
    return finding;
}

/// `Kernel pid terminated (application_controller) ({application_start_failure,shop,...` (init.erl,
/// terminate(); OTP 25 to 29; before R16 the reason is a tuple, too).
std::optional<Finding> kernel_ended(NodeFacts& facts, std::string_view slogan) {
    const auto name = between(slogan, "Kernel pid terminated (", ")");
    if (!name) {
        return std::nullopt;
    }
    Finding finding;
    finding.figures = {{"process", std::string(*name)}};
    finding.command = facts.command("processes");
    const auto reason = [&](std::string_view key) { return between(slogan, key, ","); };
    if (const auto failed = reason("{application_start_failure,")) {
        finding.sentence = fmt::format(
            "The node ended as the application {} did not start; the slogan has its reason.",
            *failed);
        finding.figures.push_back({"application", std::string(*failed)});
    } else if (const auto ended = reason("{application_terminated,")) {
        finding.sentence = fmt::format(
            "The node ended as the application {}, started as permanent, had terminated: its top "
            "supervisor gave up.",
            *ended);
        finding.figures.push_back({"application", std::string(*ended)});
    } else {
        finding.sentence = fmt::format(
            "The node ended with {}, a process of the kernel that it cannot do without.", *name);
    }
    return finding;
}

std::optional<Finding> other_reason(NodeFacts& facts, std::string_view slogan) {
    Finding finding;
    finding.command = facts.command("sections");
    // The first letter is a capital or not, by release.
    const auto words = slogan.substr(std::min<std::size_t>(slogan.size(), 1));
    if (words.starts_with("nit terminating in do_boot") ||
        words.starts_with("untime terminating during boot") ||
        words.starts_with("ould not start kernel pid")) {
        finding.sentence =
            "The node ended while it started: what its boot script asks for failed; the slogan "
            "has the reason.";
        return finding;
    }
    if (slogan.starts_with("Received SIGUSR1")) {
        finding.sentence =
            "The node was asked to end and to write this dump (SIGUSR1); it did not fail by "
            "itself.";
        return finding;
    }
    return std::nullopt;
}

}  // namespace

/// What a slogan that the runtime writes means. Others are the node's own, of erlang:halt/1.
Result<RuleAnswer> slogan_rule(NodeFacts& facts) {
    RuleAnswer answer;
    const auto& slogan = facts.dump().capture().slogan();
    ASSIGN_OR_RETURN(auto finding, out_of_memory(facts, slogan));
    if (!finding) {
        ASSIGN_OR_RETURN(finding, full_table(facts, slogan));
    }
    if (!finding) {
        finding = kernel_ended(facts, slogan);
    }
    if (!finding) {
        finding = other_reason(facts, slogan);
    }
    if (finding) {
        answer.findings.push_back(std::move(*finding));
    }
    return answer;
}

}  // namespace beamdump::query
