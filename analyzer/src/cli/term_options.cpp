#include "cli/term_options.h"

#include "query/facts/node_syntax.h"
#include "query/tables/resource_types.h"
#include "query/term/beam_records.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace beamdump::cli {

void TermOptions::add(CLI::App& app) {
    app.add_option("--syntax", syntax_,
                   "Print terms as erlang or elixir does (default: elixir if the node has Elixir's "
                   "modules loaded)")
        ->check(CLI::IsMember({"erlang", "elixir"}))
        ->option_text("SYNTAX");
    app.add_option("--beam", beam_,
                   "Name the fields of records that the .beam files of this directory (or this "
                   "file) define, if these have debug information. Repeatable")
        ->type_size(1)
        ->allow_extra_args(false)
        ->option_text("DIR");
}

Result<void> TermOptions::read_records(Invocation& invocation) {
    for (const std::string& path : beam_) {
        ASSIGN_OR_RETURN(const auto read, query::read_beam_records(path, records_));
        if (read.without_information != 0) {
            invocation.report(fmt::format("{} in {} have no debug information",
                                          counted(read.without_information, "module"), path));
        }
        if (const auto& unreadable = read.first_unreadable) {
            invocation.report(fmt::format("{} in {} cannot be read; the first: {}",
                                          counted(read.unreadable, "module"), path, *unreadable));
        }
    }
    for (const auto& record : records_.ambiguous()) {
        invocation.report(fmt::format(
            "the record {} of {} is not shown with its fields, as {} and {} define it differently; "
            "name one module's file with --beam",
            record.tag, counted(record.arity, "element"), record.one, record.other));
    }
    return {};
}

/// The one asked for, else that of the node. Where the dump's damage hides it, the answer is
/// incomplete: it may be in another syntax than that of the undamaged dump.
TermSyntax TermOptions::syntax(Dump& dump) const {
    if (!syntax_.empty()) {
        return syntax_ == "elixir" ? TermSyntax::kElixir : TermSyntax::kErlang;
    }
    auto guessed = query::syntax_of_node(dump);
    if (!guessed) {
        Error& error = guessed.error();
        error.message = fmt::format(
            "terms are in Erlang's syntax, as it cannot be read whether the node runs Elixir "
            "(--syntax erlang or elixir needs no such look): {}",
            error.message);
        dump.faults().note(error);
    }
    return guessed.value_or(TermSyntax::kErlang);
}

Result<void> TermOptions::apply(Invocation& invocation, Dump& dump, Resources resources) {
    RETURN_IF_ERROR(read_records(invocation));
    if (resources == Resources::kWithType) {
        if (auto names = query::resource_type_names(dump)) {
            resources_ = std::move(*names);
        } else {
            dump.faults().note(wrap("reading the types of NIF resources", names.error()).error());
        }
    }
    dump.set_term_style({.syntax = syntax(dump),
                         .records = records_.size() == 0 ? nullptr : &records_,
                         .resources = resources_.empty() ? nullptr : &resources_});
    return {};
}

Result<void> TermOptions::apply_erlang(Dump& dump, std::string_view why) const {
    if (syntax_ == "elixir" || !beam_.empty()) {
        return fail(ErrorCode::kUsage, std::string(why));
    }
    dump.set_term_style({});
    return {};
}

}  // namespace beamdump::cli
