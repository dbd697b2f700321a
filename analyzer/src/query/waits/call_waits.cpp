#include "query/waits/call_waits.h"

#include "query/activity/ports.h"
#include "query/process/process_names.h"
#include "query/term/term_text.h"
#include "query/waits/global_locks.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

namespace beamdump::query {

namespace {

/// The three numbers that a reference has with and without a pid, as printed.
using Numbers = std::array<std::string, 3>;

std::optional<Numbers> last_numbers(std::string_view text) {
    if (!text.starts_with("#Ref<") || !text.ends_with('>')) {
        return std::nullopt;
    }
    text = text.substr(5, text.size() - 6);
    Numbers numbers;
    for (std::size_t i = numbers.size(); i-- > 0;) {
        const auto dot = text.rfind('.');
        if (dot == std::string_view::npos) {
            return std::nullopt;
        }
        numbers[i] = text.substr(dot + 1);
        text = text.substr(0, dot);
    }
    return numbers;
}

// Upper bound of an entry of rows_ or by_name_.
constexpr std::uint64_t kRowMemory = 48;

/// The process that purges code, and what waits for its answer with a reference that is no
/// monitor's (erts_code_purger.erl, OTP 20 to 29).
constexpr std::string_view kPurger = "erts_code_purger";

class CallWaits {
  public:
    CallWaits(Dump& dump, const TagScheme& scheme, const ProcessRows& rows, bool all_kinds,
              WaitGraph& graph)
        : dump_(dump), scheme_(scheme), rows_(rows), all_kinds_(all_kinds), graph_(graph) {
        if (const auto row = dump.find_process(kPurger)) {
            purger_ = row->owner_id();
        }
    }

    Result<void> look_at(OpenedProcess& process) {
        const auto status = process.run.row.status();
        const auto& function = process.line.current_function;
        if (all_kinds_ && status == records::PROCESS_STATUS_SUSPENDED && function &&
            std::ranges::find(kPortCommands, *function) != kPortCommands.end()) {
            return match_port(process);
        }
        if (status != records::PROCESS_STATUS_WAITING) {
            return {};
        }
        if (all_kinds_ && function && function->starts_with("global:")) {
            return match_lock(process);
        }
        if (waits_for_purger(process)) {
            return graph_.add(process_place(process.run.owner_id()),
                              {.to = process_place(*purger_)});
        }
        if (function && std::ranges::find(kStartFunctions, *function) != kStartFunctions.end()) {
            return match_start(process, *function == kApplicationStart);
        }
        FrameCursor frames(process.context(), process.scheme, process.stack());
        const auto frame = frames.next();
        if (!frame) {
            return {};
        }
        std::vector<Numbers> held;
        TermPrinter printer(process.context(), process.scheme);
        WordReader reader(process.context());
        for (const FrameRegister& y : frame->registers) {
            if (y.is_catch || word_kind(scheme_, y.word) != WordKind::kBoxed) {
                continue;
            }
            const auto object = heap_object(scheme_, reader, y.word);
            if (object && object->kind == BoxedKind::kReference) {
                constexpr std::size_t kLongestReference = 200;
                if (auto numbers =
                        last_numbers(term_text(printer, y.word, kLongestReference).text)) {
                    held.push_back(std::move(*numbers));
                }
            }
        }
        return held.empty() ? Result<void>() : match(process, held, printer);
    }

  private:
    /// Functions in which a process is suspended as a port is busy, with the port as first argument
    /// (erl_bif_port.c, bif.c; OTP 25 to 29).
    static constexpr std::array<std::string_view, 3> kPortCommands = {
        "erts_internal:port_command/3", "erlang:send/2", "erlang:send/3"};
    static constexpr std::size_t kLongestTerm = 1000;

    Result<void> match_port(OpenedProcess& process) {
        ASSIGN_OR_RETURN(const auto arguments, process.arguments());
        if (arguments.empty() || word_kind(scheme_, arguments.front()) != WordKind::kPort) {
            return {};
        }
        if (!busy_ports_) {
            busy_ports_.emplace();
            const auto visited = visit_ports(dump_, [this](const PortState& port) {
                if (port.busy) {
                    busy_ports_->insert(port.port);
                }
            });
            if (!visited && visited.error().code != ErrorCode::kNotFound) {
                return std::unexpected(visited.error());
            }
        }
        TermPrinter printer(process.context(), process.scheme);
        auto port = term_text(printer, arguments.front(), kLongestTerm).text;
        if (!busy_ports_->contains(port)) {
            return {};
        }
        return graph_.add(process_place(process.run.owner_id()),
                          {WaitKind::kPort, {.owner = {}, .name = std::move(port)}});
    }

    /// The process that is to start is the only pid in the y registers of the functions that wait
    /// for it. For an application master, application_controller waits, without a call, so that it
    /// goes on to take messages.
    Result<void> match_start(OpenedProcess& process, bool of_application) {
        FrameCursor frames(process.context(), process.scheme, process.stack());
        const auto frame = frames.next();
        if (!frame) {
            return {};
        }
        const auto started = std::ranges::find_if(frame->registers, [this](const FrameRegister& y) {
            return !y.is_catch && word_kind(scheme_, y.word) == WordKind::kPid;
        });
        if (started == frame->registers.end()) {
            return {};
        }
        const auto place = process_place(process.run.owner_id());
        RETURN_IF_ERROR(
            graph_.add(place, {.kind = WaitKind::kStart, .to = place_of_pid(started->word)}));
        if (!of_application) {
            return {};
        }
        const auto controller = dump_.find_process("application_controller");
        if (!controller) {
            return controller.error().code == ErrorCode::kNotFound
                       ? Result<void>()
                       : std::unexpected(controller.error());
        }
        // Certain where it is the only one: applications may start at the same time.
        return graph_.add(process_place(controller->owner_id()),
                          {.kind = WaitKind::kStart, .to = place, .certain = false});
    }

    /// The id of the lock, {Resource, Requester}, is in a y register of the functions of global.
    Result<void> match_lock(OpenedProcess& process) {
        if (!locks_) {
            ASSIGN_OR_RETURN(locks_, GlobalLocks::read(dump_));
        }
        TermPrinter printer(process.context(), process.scheme);
        WordReader reader(process.context());
        FrameCursor frames(process.context(), process.scheme, process.stack());
        constexpr int kMostFrames = 8;
        for (int count = 0; count < kMostFrames; ++count) {
            const auto frame = frames.next();
            if (!frame) {
                return {};
            }
            for (const FrameRegister& y : frame->registers) {
                if (y.is_catch || word_kind(scheme_, y.word) != WordKind::kBoxed) {
                    continue;
                }
                const auto object = heap_object(scheme_, reader, y.word);
                constexpr std::uint64_t kWordsOfPair = 3;
                if (!object || object->kind != BoxedKind::kTuple || object->words != kWordsOfPair) {
                    continue;
                }
                if (const auto lock =
                        locks_->of_id(term_text(printer, y.word, kLongestTerm).text)) {
                    return add_lock(process_place(process.run.owner_id()), *lock);
                }
            }
        }
        return {};
    }

    Result<void> add_lock(const WaitPlace& from, const GlobalLocks::Lock& lock) {
        const WaitPlace place{.owner = {},
                              .name = fmt::format("global lock {}", lock.resource),
                              .kind = WaitPlaceKind::kLock};
        RETURN_IF_ERROR(graph_.add(from, {WaitKind::kLock, place}));
        if (!graph_.edges_of(place).empty()) {
            return {};
        }
        const auto owner = parse_pid(lock.holder);
        return graph_.add(place, {WaitKind::kHolder,
                                  owner && rows_.contains(*owner)
                                      ? process_place(*owner)
                                      : WaitPlace{.owner = {}, .name = std::string(lock.holder)}});
    }

    [[nodiscard]] bool waits_for_purger(const OpenedProcess& process) const {
        const auto& function = process.line.current_function;
        return purger_ && process.run.owner_id() != *purger_ && function &&
               function->starts_with(kPurger) && function->substr(kPurger.size()).starts_with(':');
    }

    Result<void> match(OpenedProcess& process, const std::vector<Numbers>& held,
                       TermPrinter& printer) {
        for (const Pack& pack : process.run.directory.relations) {
            auto relations = dump_.reader().message_at<records::Relations>(
                pack.offset, format::RecordKind::kRelations);
            if (!relations) {
                return wrap("reading monitors", std::move(relations.error()));
            }
            for (const auto& monitor : relations->monitor()) {
                if (monitor.is_target() || monitor.reference_size() < 3) {
                    continue;
                }
                // Stored lowest first, printed highest first.
                const Numbers numbers = {std::to_string(monitor.reference(2)),
                                         std::to_string(monitor.reference(1)),
                                         std::to_string(monitor.reference(0))};
                if (std::ranges::find(held, numbers) != held.end()) {
                    return graph_.add(process_place(process.run.owner_id()),
                                      {.to = place_of(monitor, printer)});
                }
            }
        }
        return {};
    }

    WaitPlace place_of(const records::Monitor& monitor, TermPrinter& printer) {
        if (monitor.has_name_atom()) {
            const bool here =
                !monitor.has_node_atom() || monitor.node_atom() == dump_.node().name_atom();
            if (const auto known = rows_.named(monitor.name_atom()); here && known) {
                return process_place(*known);
            }
            std::string name = atom_text(dump_, monitor.name_atom());
            return {.owner = {},
                    .name = here ? std::move(name)
                                 : fmt::format("{{{},{}}}", name,
                                               atom_text(dump_, monitor.node_atom()))};
        }
        if (!monitor.has_other_word() && monitor.has_remote_owner_id()) {
            const auto node = dump_.tables().node_at(monitor.remote_node_address());
            return {.owner = {},
                    .name = pid_text(node ? std::to_string(node->name_atom) : "?",
                                     monitor.remote_owner_id())};
        }
        const std::uint64_t word = monitor.other_word();
        if (word_kind(scheme_, word) == WordKind::kPid) {
            return place_of_pid(word);
        }
        constexpr std::size_t kLongestId = 200;
        return {.owner = {}, .name = term_text(printer, word, kLongestId).text};
    }

    [[nodiscard]] WaitPlace place_of_pid(std::uint64_t word) const {
        const std::uint64_t owner = pid_serial(scheme_, word) << 32U | pid_number(scheme_, word);
        return rows_.contains(owner) ? process_place(owner)
                                     : WaitPlace{.owner = {}, .name = pid_text(owner)};
    }

    Dump& dump_;
    TagScheme scheme_;
    const ProcessRows& rows_;
    bool all_kinds_;
    WaitGraph& graph_;
    std::optional<std::uint64_t> purger_;
    std::optional<std::set<std::string>> busy_ports_;
    std::optional<GlobalLocks> locks_;
};

}  // namespace

Result<ProcessRows> ProcessRows::read(Dump& dump, const InputLimits& limits) {
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_REGISTERED_NAME};
    ProcessRows rows;
    Budget budget(limits);
    RETURN_IF_ERROR(
        dump.processes().visit(kColumns, [&](std::uint64_t row, ProcessIndex::Values values) {
            rows.rows_[values[0].value_or(0)] = row;
            if (values[1]) {
                rows.by_name_[*values[1]] = values[0].value_or(0);
            }
            budget.use_memory(kRowMemory * (values[1] ? 2 : 1));
            return !budget.memory_exceeded();
        }));
    RETURN_IF_ERROR(budget.check_memory());
    return rows;
}

std::optional<std::uint64_t> ProcessRows::named(std::uint64_t atom) const {
    const auto known = by_name_.find(atom);
    return known == by_name_.end() ? std::nullopt : std::optional(known->second);
}

Result<ProcessLine> ProcessRows::line(Dump& dump, std::uint64_t owner) const {
    const auto row = rows_.find(owner);
    if (row == rows_.end()) {
        ProcessLine line;
        line.pid = pid_text(owner);
        return line;
    }
    ASSIGN_OR_RETURN(const auto rows,
                     dump.processes().rows(std::array<std::uint64_t, 1>{row->second}));
    return named_line(dump, rows[0]);
}

Result<ProcessesRead> add_call_waits(Dump& dump, const WaitsOptions& options,
                                     const ProcessRows& rows, WaitGraph& graph) {
    ASSIGN_OR_RETURN(const auto scheme, node_scheme(dump));
    CallWaits waits(dump, scheme, rows, options.all_kinds, graph);
    auto read = visit_processes(
        dump, {.sensitive = options.sensitive, .progress = options.progress, .rows = options.rows},
        [&](OpenedProcess& process) { return waits.look_at(process); });
    return read ? std::move(read) : wrap("finding who waits for whom", std::move(read.error()));
}

}  // namespace beamdump::query
