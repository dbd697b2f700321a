#include "query/process/process_applications.h"

#include "query/process/every_process.h"
#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <algorithm>
#include <array>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestName = 255;  // bytes of an atom of Latin-1 letters

std::optional<HeapObject> tuple_of(OpenedProcess& process, WordReader& reader, std::uint64_t word) {
    if (word_kind(process.scheme, word) != WordKind::kBoxed) {
        return std::nullopt;
    }
    const auto object = heap_object(process.scheme, reader, word);
    return object && object->kind == BoxedKind::kTuple ? object : std::nullopt;
}

/// The name in {state,_,{appl_data,Name,...},...}.
std::optional<std::uint64_t> name_in(OpenedProcess& process, WordReader& reader, std::uint32_t data,
                                     std::uint64_t state) {
    const auto tuple = tuple_of(process, reader, state);
    for (std::uint64_t i = 1; tuple && i < std::min<std::uint64_t>(tuple->words, 8); ++i) {
        std::uint64_t element = 0;
        std::uint64_t tag = 0;
        std::uint64_t name = 0;
        if (reader.read(tuple->address + i * kWordBytes, element) != WordStatus::kHere) {
            continue;
        }
        const auto of = tuple_of(process, reader, element);
        if (of && of->words > 2 &&
            reader.read(of->address + kWordBytes, tag) == WordStatus::kHere &&
            word_kind(process.scheme, tag) == WordKind::kAtom && table_index(tag) == data &&
            reader.read(of->address + 2 * kWordBytes, name) == WordStatus::kHere) {
            return name;
        }
    }
    return std::nullopt;
}

}  // namespace

Result<ApplicationReader> ApplicationReader::make(Dump& dump) {
    ApplicationReader reader;
    ASSIGN_OR_RETURN(reader.module_, dump.atoms().index_of("application_master"));
    ASSIGN_OR_RETURN(reader.data_, dump.atoms().index_of("appl_data"));
    return reader;
}

void ApplicationReader::read(OpenedProcess& process) {
    const std::uint64_t owner = process.run.owner_id();
    const auto& facts = process.run.process;
    const std::uint64_t leader = facts.group_leader_word();
    if (facts.has_group_leader_word() && word_kind(process.scheme, leader) == WordKind::kPid) {
        leaders_[owner] =
            pid_serial(process.scheme, leader) << 32U | pid_number(process.scheme, leader);
    }
    if (auto name = master_of(process)) {
        of_masters_.emplace(owner, std::move(*name));
    }
}

std::optional<std::string> ApplicationReader::master_of(OpenedProcess& process) const {
    const auto& row = process.run.row;
    if (!module_ || !data_ || row.current_function().module_atom() != *module_) {
        return std::nullopt;
    }
    WordReader reader(process.context());
    FrameCursor frames(process.context(), process.scheme, process.stack());
    while (const auto frame = frames.next()) {
        for (const FrameRegister& y : frame->registers) {
            if (const auto name = name_in(process, reader, *data_, y.word)) {
                TermPrinter printer(process.context(), process.scheme);
                return term_text(printer, *name, kLongestName).text;
            }
        }
    }
    return std::nullopt;
}

std::vector<std::pair<std::uint64_t, std::string>> ApplicationReader::applications() const {
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const auto& [owner, leader] : leaders_) {
        // A master is its own leader's child: it belongs to its own application.
        const auto own = of_masters_.find(owner);
        const auto known = own != of_masters_.end() ? own : of_masters_.find(leader);
        if (known != of_masters_.end()) {
            found.emplace_back(owner, known->second);
        }
    }
    return found;
}

Result<std::unordered_map<std::uint64_t, std::string>> applications_of(
    Dump& dump, const std::set<std::uint64_t>& owner_ids) {
    std::unordered_map<std::uint64_t, std::string> found;
    if (owner_ids.empty() || is_of_crash_dump(dump)) {
        return found;
    }
    ASSIGN_OR_RETURN(const auto master, dump.atoms().index_of("application_master"));
    if (!master) {
        return found;
    }
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_CURRENT_MODULE};
    std::vector<std::uint64_t> numbers;
    RETURN_IF_ERROR(
        dump.processes().visit(kColumns, [&](std::uint64_t row, ProcessIndex::Values values) {
            if (values[1] == *master || (values[0] && owner_ids.contains(*values[0]))) {
                numbers.push_back(row);
            }
            return true;
        }));
    ASSIGN_OR_RETURN(auto reader, ApplicationReader::make(dump));
    // To which application a process belongs is no content of it.
    const EveryProcessOptions options = {.sensitive = true, .rows = std::move(numbers)};
    RETURN_IF_ERROR(visit_processes(dump, options, [&](OpenedProcess& process) -> Result<void> {
        reader.read(process);
        return {};
    }));
    for (auto& [owner, application] : reader.applications()) {
        if (owner_ids.contains(owner)) {
            found.emplace(owner, std::move(application));
        }
    }
    return found;
}

}  // namespace beamdump::query
