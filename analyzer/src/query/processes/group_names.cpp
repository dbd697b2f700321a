#include "query/processes/group_names.h"

#include "query/process/process_applications.h"
#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <algorithm>
#include <ranges>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestGroupName = 200;

std::string text_of(OpenedProcess& process, std::uint64_t word) {
    TermPrinter printer(process.context(), process.scheme);
    const TermText text = term_text(printer, word, kLongestGroupName);
    return text.text + (text.cut ? "..." : "");
}

std::optional<std::string> ancestor_name(OpenedProcess& process,
                                         const std::vector<std::uint64_t>& ancestors) {
    const auto is_name = [&process](std::uint64_t word) {
        return word_kind(process.scheme, word) == WordKind::kAtom;
    };
    if (ancestors.empty()) {
        return std::nullopt;
    }
    const auto named = std::ranges::find_if(ancestors | std::views::reverse, is_name);
    return text_of(process, named == ancestors.rend() ? ancestors.back() : *named);
}

}  // namespace

Result<AncestorReader> AncestorReader::make(Dump& dump) {
    AncestorReader reader;
    ASSIGN_OR_RETURN(reader.ancestors_, dump.atoms().index_of("$ancestors"));
    ASSIGN_OR_RETURN(reader.label_, dump.atoms().index_of("$process_label"));
    return reader;
}

Result<AncestorWords> AncestorReader::read(OpenedProcess& process) const {
    AncestorWords found;
    const auto visit = [&](std::uint64_t key, std::uint64_t value) {
        if (word_kind(process.scheme, key) == WordKind::kAtom) {
            const std::uint64_t index = table_index(key);
            if (index == ancestors_) {
                found.ancestors = value;
            } else if (index == label_) {
                found.label = value;
            }
        }
        return !found.ancestors || !found.label;
    };
    auto done = walk_dictionary(process.context(), process.run, process.scheme, visit);
    if (!done) {
        return wrap("reading the dictionary", std::move(done.error()));
    }
    return found;
}

std::vector<std::uint64_t> AncestorReader::elements(OpenedProcess& process, std::uint64_t list) {
    std::vector<std::uint64_t> words;
    WordReader reader(process.context());
    while (words.size() < kMaxAncestors && word_kind(process.scheme, list) == WordKind::kList) {
        std::uint64_t head = 0;
        if (reader.read_pair(pointer_of(list), head, list) != WordStatus::kHere) {
            break;
        }
        words.push_back(head);
    }
    return words;
}

void GroupNames::add(std::uint64_t owner_id, const std::string& name) {
    const auto [known, is_new] =
        numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) {
        names_.push_back(&known->first);
    }
    by_owner_[owner_id] = known->second;
}

const std::string* GroupNames::of(std::uint64_t owner_id) const {
    const auto known = by_owner_.find(owner_id);
    return known == by_owner_.end() ? nullptr : names_[known->second];
}

Result<GroupNames> GroupNames::read(Dump& dump, const GroupsOptions& options) {
    GroupNames names;
    ASSIGN_OR_RETURN(const auto reader, AncestorReader::make(dump));
    ASSIGN_OR_RETURN(auto applications, ApplicationReader::make(dump));
    const auto visit = [&](OpenedProcess& process) -> Result<void> {
        const std::uint64_t owner = process.run.owner_id();
        if (options.by == GroupBy::kApplication) {
            applications.read(process);
            return {};
        }
        ASSIGN_OR_RETURN(const auto words, reader.read(process));
        if (options.by == GroupBy::kLabel) {
            if (words.label) {
                names.add(owner, text_of(process, *words.label));
            }
            return {};
        }
        const auto ancestors = words.ancestors ? AncestorReader::elements(process, *words.ancestors)
                                               : std::vector<std::uint64_t>();
        if (options.by == GroupBy::kAncestor) {
            if (const auto name = ancestor_name(process, ancestors)) {
                names.add(owner, *name);
            }
        } else if (!ancestors.empty()) {
            names.add(owner, text_of(process, ancestors.front()));
        }
        return {};
    };
    ASSIGN_OR_RETURN(
        names.counts_,
        visit_processes(dump, {.sensitive = options.sensitive, .progress = options.progress},
                        visit));
    for (const auto& [owner, application] : applications.applications()) {
        names.add(owner, application);
    }
    return names;
}

}  // namespace beamdump::query
