#include "query/processes/group_names.h"

#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <algorithm>
#include <ranges>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestName = 200;

std::string text_of(OpenedProcess& process, std::uint64_t word) {
    TermPrinter printer(process.context(), process.scheme);
    const TermText text = term_text(printer, word, kLongestName);
    return text.text + (text.cut ? "..." : "");
}

/// The name of the application whose master this is: main_loop/2 keeps {state,_,{appl_data,Name,
/// ...},...} in a y register (application_master.erl, OTP 25, 27 and 29).
class ApplicationMasters {
  public:
    static Result<ApplicationMasters> make(Dump& dump) {
        ApplicationMasters masters;
        ASSIGN_OR_RETURN(masters.module_, dump.atoms().index_of("application_master"));
        ASSIGN_OR_RETURN(masters.data_, dump.atoms().index_of("appl_data"));
        return masters;
    }

    std::optional<std::string> name_of(OpenedProcess& process) const {
        const auto& row = process.run.row;
        if (!module_ || !data_ || row.current_function().module_atom() != *module_) {
            return std::nullopt;
        }
        WordReader reader(process.context());
        FrameCursor frames(process.context(), process.scheme, process.stack());
        while (const auto frame = frames.next()) {
            for (const FrameRegister& y : frame->registers) {
                if (const auto name = name_in(process, reader, y.word)) {
                    return text_of(process, *name);
                }
            }
        }
        return std::nullopt;
    }

  private:
    std::optional<std::uint64_t> name_in(OpenedProcess& process, WordReader& reader,
                                         std::uint64_t state) const {
        const auto tuple = tuple_of(process, reader, state);
        for (std::uint64_t i = 1; tuple && i < std::min<std::uint64_t>(tuple->words, 8); ++i) {
            std::uint64_t element = 0;
            std::uint64_t tag = 0;
            std::uint64_t name = 0;
            if (reader.read(tuple->address + i * kWordBytes, element) != WordStatus::kHere) {
                continue;
            }
            const auto data = tuple_of(process, reader, element);
            if (data && data->words > 2 &&
                reader.read(data->address + kWordBytes, tag) == WordStatus::kHere &&
                word_kind(process.scheme, tag) == WordKind::kAtom && table_index(tag) == *data_ &&
                reader.read(data->address + 2 * kWordBytes, name) == WordStatus::kHere) {
                return name;
            }
        }
        return std::nullopt;
    }

    static std::optional<HeapObject> tuple_of(OpenedProcess& process, WordReader& reader,
                                              std::uint64_t word) {
        if (word_kind(process.scheme, word) != WordKind::kBoxed) {
            return std::nullopt;
        }
        const auto object = heap_object(process.scheme, reader, word);
        return object && object->kind == BoxedKind::kTuple ? object : std::nullopt;
    }

    std::optional<std::uint32_t> module_;
    std::optional<std::uint32_t> data_;
};

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
    ASSIGN_OR_RETURN(const auto masters, ApplicationMasters::make(dump));
    std::unordered_map<std::uint64_t, std::uint64_t> leaders;  // by owner id
    std::unordered_map<std::uint64_t, std::string> applications;
    const auto visit = [&](OpenedProcess& process) -> Result<void> {
        const std::uint64_t owner = process.run.owner_id();
        if (options.by == GroupBy::kApplication) {
            const auto& facts = process.run.process;
            const std::uint64_t leader = facts.group_leader_word();
            if (facts.has_group_leader_word() &&
                word_kind(process.scheme, leader) == WordKind::kPid) {
                leaders[owner] =
                    pid_serial(process.scheme, leader) << 32U | pid_number(process.scheme, leader);
            }
            if (auto name = masters.name_of(process)) {
                applications.emplace(owner, std::move(*name));
            }
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
    for (const auto& [owner, leader] : leaders) {
        // A master is its own leader's child: it belongs to its own application.
        const auto own = applications.find(owner);
        const auto known = own != applications.end() ? own : applications.find(leader);
        if (known != applications.end()) {
            names.add(owner, known->second);
        }
    }
    return names;
}

}  // namespace beamdump::query
