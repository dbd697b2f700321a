#include "query/process/process_names.h"

#include "query/facts/node_syntax.h"
#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_row.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/term_printer.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestShownName = 200;
constexpr std::size_t kNamesAtATime = 4096;
/// To read so many dictionaries takes longer than to look through the atoms.
constexpr std::size_t kWorthALook = 64;
constexpr std::uint32_t kEachKey = (1U << kNamingKeys.size()) - 1;

/// What the values of kNamingKeys are.
constexpr std::array<std::optional<std::string> ProcessLine::*, kNamingKeys.size()> kNames = {
    &ProcessLine::label, &ProcessLine::process_name};

}  // namespace

TermSyntax ProcessNames::syntax() {
    if (!syntax_) {
        const auto& style = dump_->term_style();
        syntax_ = style ? style->syntax : syntax_of_node(*dump_).value_or(TermSyntax::kErlang);
    }
    return *syntax_;
}

std::uint32_t ProcessNames::naming_keys() {
    if (!naming_keys_) {
        std::uint32_t keys = 0;
        for (std::size_t at = 0; at < kNamingKeys.size(); ++at) {
            const auto atom = dump_->atoms().index_of(kNamingKeys.at(at));
            keys |= !atom || atom->has_value() ? 1U << at : 0;
        }
        naming_keys_ = keys;
    }
    return *naming_keys_;
}

void ProcessNames::add_syntax(ProcessLine& line) {
    constexpr std::string_view kQuotedAlias = "'Elixir.";
    const auto has_alias = [&](const std::optional<std::string>& text) {
        return text && text->starts_with(kQuotedAlias);
    };
    line.elixir = (has_alias(line.registered_name) || has_alias(line.initial_call) ||
                   has_alias(line.translated_initial_call) || has_alias(line.current_function)) &&
                  syntax() == TermSyntax::kElixir;
}

void ProcessNames::add_dictionary(OpenedProcess& process, ProcessLine& line) {
    std::array<std::optional<std::uint64_t>, kNamingKeys.size()> words;
    const auto visit = [&](std::uint64_t key, std::uint64_t value) {
        if (word_kind(process.scheme, key) == WordKind::kAtom) {
            const auto text = process.context().atom(static_cast<std::uint32_t>(table_index(key)));
            for (std::size_t at = 0; text && at < words.size(); ++at) {
                if (*text == kNamingKeys.at(at)) {
                    words.at(at) = value;
                }
            }
        }
        return !std::ranges::all_of(words, [](const auto& word) { return word.has_value(); });
    };
    if (!walk_dictionary(process.context(), process.run, process.scheme, visit)) {
        return;
    }
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (!words.at(at)) {
            continue;
        }
        auto scheme = process.scheme;
        scheme.style.syntax = syntax();
        TermPrinter printer(process.context(), scheme);
        const auto text = term_text(printer, *words.at(at), kLongestShownName);
        // proc_lib:set_label(undefined) takes the label away.
        const bool is_name = text.text != "undefined" && text.text != ":undefined";
        if (is_name && placeholders(printer.statistics()) == 0) {
            line.*kNames.at(at) = text.text + (text.cut ? "..." : "");
        }
    }
}

void ProcessNames::add_to(OpenedProcess& process) {
    add_syntax(process.line);
    if (!process.line.registered_name && terms_withheld(process.run, false) == Withheld::kNo) {
        add_dictionary(process, process.line);
    }
}

void ProcessNames::add_from_file(const records::ProcessRow& row, ProcessLine& line) {
    if (row.void_reason() != records::VOID_REASON_NONE) {
        return;
    }
    const auto scheme = node_scheme(*dump_);
    auto run = ProcessRun::load(dump_->reader(), row);
    if (!scheme || !run || terms_withheld(*run, false) != Withheld::kNo) {
        return;
    }
    OpenedProcess process(*dump_, std::move(*run), *scheme);
    add_dictionary(process, line);
}

void ProcessNames::add_to(std::span<ProcessLine> lines, std::span<const records::ProcessRow> rows) {
    std::vector<std::size_t> unregistered;
    for (std::size_t at = 0; at < lines.size(); ++at) {
        add_syntax(lines[at]);
        if (!lines[at].registered_name) {
            unregistered.push_back(at);
        }
    }
    // A list of a crash dump's text is read without terms: the same list of its conversion has no
    // other names.
    if (is_of_crash_dump(*dump_)) {
        return;
    }
    const auto keys = unregistered.size() >= kWorthALook ? naming_keys() : kEachKey;
    std::erase_if(unregistered,
                  [&](std::size_t at) { return (keys & ~rows[at].naming_keys_absent()) == 0; });
    std::ranges::sort(unregistered, {}, [&](std::size_t at) { return rows[at].begin_offset(); });
    for (const std::size_t at : unregistered) {
        add_from_file(rows[at], lines[at]);
    }
}

void ProcessNames::add_to(ProcessLine& line, const records::ProcessRow& row) {
    add_to(std::span(&line, 1), std::span(&row, 1));
}

Result<std::unordered_map<std::uint64_t, std::string>> ProcessNames::of(
    const std::set<std::uint64_t>& owner_ids) {
    std::unordered_map<std::uint64_t, std::string> names;
    ASSIGN_OR_RETURN(auto all, shown(owner_ids));
    for (auto& [owner, process] : all) {
        if (process.name) {
            names.emplace(owner, std::move(*process.name));
        }
    }
    return names;
}

Result<std::unordered_map<std::uint64_t, ProcessNames::Shown>> ProcessNames::shown(
    const std::set<std::uint64_t>& owner_ids) {
    std::unordered_map<std::uint64_t, Shown> found;
    if (owner_ids.empty()) {
        return found;
    }
    std::vector<std::uint64_t> numbers;
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID};
    RETURN_IF_ERROR(
        dump_->processes().visit(kColumns, [&](std::uint64_t row, ProcessIndex::Values values) {
            if (values[0] && owner_ids.contains(*values[0])) {
                numbers.push_back(row);
            }
            return numbers.size() < owner_ids.size();
        }));
    RETURN_IF_ERROR(
        each_named(numbers, [&](const records::ProcessRow& row, const ProcessLine& line) {
            found.emplace(row.owner_id(), Shown{shown_name(line), line.translated_initial_call
                                                                      ? line.translated_initial_call
                                                                      : line.initial_call});
        }));
    return found;
}

Result<std::unordered_map<std::uint64_t, std::string>> ProcessNames::labels() {
    std::unordered_map<std::uint64_t, std::string> labels;
    if (is_of_crash_dump(*dump_) || naming_keys() == 0) {
        return labels;
    }
    std::vector<std::uint64_t> numbers;
    constexpr std::array kColumns = {records::PROCESS_COLUMN_REGISTERED_NAME};
    RETURN_IF_ERROR(
        dump_->processes().visit(kColumns, [&](std::uint64_t row, ProcessIndex::Values values) {
            if (!values[0]) {
                numbers.push_back(row);
            }
            return true;
        }));
    RETURN_IF_ERROR(
        each_named(numbers, [&](const records::ProcessRow& row, const ProcessLine& line) {
            if (line.label || line.process_name) {
                labels.emplace(row.owner_id(), line.label.value_or(line.process_name.value_or("")));
            }
        }));
    return labels;
}

Result<void> ProcessNames::each_named(std::span<const std::uint64_t> numbers, const Named& named) {
    for (auto left = numbers; !left.empty();) {
        const auto some = left.first(std::min(left.size(), kNamesAtATime));
        left = left.subspan(some.size());
        ASSIGN_OR_RETURN(const auto rows, dump_->processes().rows(some));
        std::vector<ProcessLine> lines;
        lines.reserve(rows.size());
        for (const auto& row : rows) {
            lines.push_back(process_line(*dump_, row));
        }
        add_to(lines, rows);
        for (std::size_t at = 0; at < rows.size(); ++at) {
            named(rows[at], lines[at]);
        }
    }
    return {};
}

ProcessLine named_line(Dump& dump, const records::ProcessRow& row) {
    auto line = process_line(dump, row);
    ProcessNames(dump).add_to(line, row);
    return line;
}

}  // namespace beamdump::query
