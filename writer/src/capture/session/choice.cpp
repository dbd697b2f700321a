#include "capture/session/choice.h"

#include <libdump/base/first_items.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libvm/beam/processes/process.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/node_tables.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace beamdump::capture {
namespace {

constexpr std::uint32_t kSampledSlotsAtOnce = 1024;
constexpr std::size_t kStructuresAtOnce = 64;

using Visit = std::function<void(const beam::ProcessSize&)>;

/// Calls `visit` with the sizes of each process in the table.
Result<void> for_each_process(beam::Vm& vm, const beam::ProcessSizer& sizer, const Visit& visit) {
    ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(vm));
    std::vector<std::byte> structures(kStructuresAtOnce * sizer.structure_bytes());
    std::vector<memory::BatchRead> reads;
    for (std::uint32_t first = 0; first < table.slots(); first += kSampledSlotsAtOnce) {
        ASSIGN_OR_RETURN(auto used, table.used(first, kSampledSlotsAtOnce));
        for (std::size_t at = 0; at < used.size(); at += kStructuresAtOnce) {
            reads.clear();
            const auto end = std::min(at + kStructuresAtOnce, used.size());
            for (auto index = at; index < end; ++index) {
                reads.push_back(
                    {(used)[index].address,
                     std::span(structures)
                         .subspan((index - at) * sizer.structure_bytes(), sizer.structure_bytes()),
                     false});
            }
            RETURN_IF_ERROR(vm.bulk().read_batch(reads));
            for (const auto& read : reads) {
                if (read.done) {
                    visit(sizer.size(read.into));
                }
            }
        }
    }
    return {};
}

}  // namespace

Result<Choice> Choice::make(beam::Vm& vm, const CaptureOptions& options) {
    ASSIGN_OR_RETURN(auto sizer, beam::ProcessSizer::open(vm));
    Choice choice(sizer);
    choice.limited_ = !options.processes.empty() || options.top;
    for (const auto& name : options.processes) {
        RETURN_IF_ERROR(choice.add_named(vm, name));
    }
    if (options.top) {
        RETURN_IF_ERROR(choice.add_largest(vm, *options.top, options.by));
    }
    return choice;
}

Result<void> Choice::add_named(beam::Vm& vm, const std::string& name) {
    const ProcessName parsed = parse_process_name(name);
    if (const auto owner = parsed.owner_id) {
        ASSIGN_OR_RETURN(auto pids, beam::PidWords::of(vm));
        bool found = false;
        auto done = for_each_process(vm, sizer_, [&](const beam::ProcessSize& process) {
            if (pids.owner_id(process.pid_word) == owner) {
                pids_.insert(process.pid_word);
                found = true;
            }
        });
        if (!done || found) {
            return done;
        }
        return fail(ErrorCode::kNotFound, fmt::format("the node has no process {}", name));
    }
    ASSIGN_OR_RETURN(auto atoms, beam::AtomReader::open(vm));
    ASSIGN_OR_RETURN(auto words, beam::AtomWords::resolve(vm.layout()));
    for (const std::string& registered : parsed.registered) {
        for (std::uint32_t index = 0; index < atoms.count(); ++index) {
            if (auto text = atoms.text(index); !text || *text != registered) {
                continue;
            }
            ASSIGN_OR_RETURN(auto process, beam::registered_process(vm, words.word(index)));
            if (process != 0) {
                return add_structure(vm, process);
            }
            break;
        }
    }
    return fail(ErrorCode::kNotFound, fmt::format("no process of the node is registered as '{}'",
                                                  parsed.registered.back()));
}

Result<void> Choice::add_structure(beam::Vm& vm, beam::Address process) {
    ASSIGN_OR_RETURN(auto read,
                     beam::OwnedStruct::read(vm.bulk(), process, sizer_.structure_bytes()));
    pids_.insert(sizer_.size(read.view().bytes()).pid_word);
    return {};
}

Result<void> Choice::add_largest(beam::Vm& vm, std::uint32_t count, ChooseBy by) {
    using Ranked = std::pair<std::uint64_t, std::uint64_t>;  // size, pid word
    FirstItems<Ranked, std::greater<>> largest(count, {});
    auto done = for_each_process(vm, sizer_, [&](const beam::ProcessSize& process) {
        const auto size = by == ChooseBy::kMemory  ? process.bytes
                          : by == ChooseBy::kQueue ? process.messages
                                                   : process.reductions;
        largest.add({size, process.pid_word});
    });
    for (const auto& [size, pid_word] : largest.items()) {
        pids_.insert(pid_word);
    }
    return done;
}

}  // namespace beamdump::capture
