// Prints of each process of testdata/workloads/storm in a dump one line, JSON: whether it is void,
// how many of its items can be reached from its roots, and all that contradicts itself there.
//
//   storm_check DUMP [ITEMS]
//
// ITEMS: of the indexes 1 to ITEMS those missing are told, the first of them.

#include "query/heap/heap_roots.h"
#include "query/process/opened_process.h"
#include "storm/held_context.h"
#include "storm/state.h"

#include <libdump/format/owner_id.h>
#include <libdump/model/external_message.h>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>

namespace {

using namespace beamdump;

using Line = rapidjson::Writer<rapidjson::StringBuffer>;
using Clock = std::chrono::steady_clock;

void text(Line& line, std::string_view shown) {
    line.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
}

void member(Line& line, std::string_view name, std::string_view value) {
    text(line, name);
    text(line, value);
}

void member(Line& line, std::string_view name, std::uint64_t number) {
    text(line, name);
    line.Uint64(number);
}

void show(Line& line, const storm::State& state, std::uint64_t items) {
    member(line, "items", state.items);
    member(line, "distinct", state.distinct);
    member(line, "highest", state.highest);
    member(line, "lowest_version", std::min(state.lowest_version, state.highest_version));
    member(line, "highest_version", state.highest_version);
    member(line, "appended", state.appended);
    member(line, "without_bytes", state.without_bytes());
    member(line, "words", state.words());
    member(line, "fault_count", state.fault_count);
    member(line, "unreadable", state.unreadable);
    text(line, "faults");
    line.StartArray();
    for (const auto& fault : state.faults) {
        text(line, fault);
    }
    line.EndArray();
    text(line, "missing");
    line.StartArray();
    for (const auto index : state.missing(items)) {
        line.Uint64(index);
    }
    line.EndArray();
    text(line, "roots");
    line.StartObject();
    for (const auto& [kind, count] : state.roots) {
        member(line, kind, count);
    }
    line.EndObject();
}

Result<void> terms(Line& line, Dump& dump, query::OpenedProcess& process, std::uint64_t items) {
    const auto begin = Clock::now();
    const auto tag = DumpNames(dump).atom_index("storm");
    if (!tag) {
        return fail(ErrorCode::kNotFound, "the dump lacks the atom storm");
    }
    constexpr std::uint64_t kAtomTag = 0xB;
    storm::State state(process.scheme, process.context(), std::uint64_t{*tag} << 6U | kAtomTag);
    auto visits = query::visit_roots(
        dump, process, [&](const query::HeapRoot& root) { return state.add(root); },
        query::RootWords::kAll);
    if (!visits) {
        return std::unexpected(visits.error());
    }
    show(line, state, items);
    member(line, "malformed_roots", visits->malformed);
    const std::chrono::duration<double> took = Clock::now() - begin;
    text(line, "seconds");
    line.Double(took.count());
    return {};
}

Result<void> process(Dump& dump, const std::string& pid, std::uint64_t items) {
    auto opened = query::open_process(dump, pid);
    if (!opened) {
        return std::unexpected(opened.error());
    }
    const auto& facts = (*opened)->line;
    if (!facts.registered_name.value_or("").starts_with("storm_")) {
        return {};
    }
    rapidjson::StringBuffer buffer;
    Line line(buffer);
    line.StartObject();
    member(line, "pid", pid);
    member(line, "name", *facts.registered_name);
    member(line, "void_reason", facts.void_reason.value_or(""));
    member(line, "void_detail", (*opened)->run.end.detail());
    member(line, "status", facts.status.value_or(""));
    member(line, "current_function", facts.current_function.value_or(""));
    member(line, "total_heap_words", facts.total_heap_words.value_or(0));
    if (!facts.void_reason) {
        if (auto done = terms(line, dump, **opened, items); !done) {
            member(line, "error", done.error().message);
        }
    }
    line.EndObject();
    std::cout << buffer.GetString() << '\n';
    return {};
}

Result<void> all(const std::string& file, std::uint64_t items) {
    auto dump = Dump::open(file, {});
    if (!dump) {
        return std::unexpected(dump.error());
    }
    (*dump)->supply_contexts([](Dump& opened, const ProcessRun& run) {
        return std::make_unique<storm::HeldContext>(opened, run);
    });
    std::vector<std::uint64_t> numbers((*dump)->processes().size());
    std::iota(numbers.begin(), numbers.end(), 0);
    auto rows = (*dump)->processes().rows(numbers);
    if (!rows) {
        return std::unexpected(rows.error());
    }
    for (const auto& row : *rows) {
        if (auto done = process(**dump, pid_text(row.owner_id()), items); !done) {
            return done;
        }
    }
    return {};
}

}  // namespace

int main(int count, char** arguments) {
    std::uint64_t items = 0;
    const std::string_view number = count == 3 ? arguments[2] : "0";
    if (count < 2 || count > 3 ||
        std::from_chars(number.begin(), number.end(), items).ec != std::errc()) {
        std::cerr << "usage: storm_check DUMP [ITEMS]\n";
        return 2;
    }
    if (auto done = all(arguments[1], items); !done) {
        std::cerr << done.error().message << '\n';
        return 1;
    }
    return 0;
}
