#include "query/activity/crash.h"

#include "query/activity/crash_causes.h"
#include "query/activity/schedulers.h"
#include "query/process/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/node_signals.h>
#include <libdump/model/code_index.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>

namespace beamdump::query {
namespace {

namespace signals = format::signals;

/// As x86-64 numbers them (CrashThread.general_register).
constexpr std::array<std::string_view, 16> kRegisterNames = {
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr std::array<std::string_view, 4> kCrashSchedulerKinds = {"", "normal", "dirty_cpu",
                                                                  "dirty_io"};
/// A node has some dozens of threads, and at most some thousands.
constexpr std::size_t kMostThreads = 65536;

std::string signal_name(int signal) {
    const auto name = signals::name_of(signal);
    return name ? std::string(*name) : fmt::format("signal {}", signal);
}

struct SignalCode {
    int signal, code;
    std::string_view text;
};

/// sigaction(2); the codes are those of asm-generic/siginfo.h.
constexpr std::array kSignalCodes = std::to_array<SignalCode>({
    {signals::kSegv, signals::kSegvMaperr, "SEGV_MAPERR: nothing is mapped at the address"},
    {signals::kSegv, signals::kSegvAccerr, "SEGV_ACCERR: the memory there does not permit it"},
    {signals::kSegv, signals::kKernel, "SI_KERNEL: no address that a program can have"},
    {signals::kBus, signals::kBusAdraln, "BUS_ADRALN: the address is not aligned"},
    {signals::kBus, signals::kBusAdrerr, "BUS_ADRERR: there is no memory behind the address"},
    {signals::kBus, signals::kBusMceerrAr, "BUS_MCEERR_AR: the memory is defective"},
    {signals::kBus, signals::kBusMceerrAo, "BUS_MCEERR_AO: some memory is defective"},
    {signals::kBus, signals::kKernel, "SI_KERNEL: no address that a program can have"},
    {signals::kIll, signals::kIllIllopc, "ILL_ILLOPC: there is no such instruction"},
    {signals::kIll, signals::kIllIllopn, "ILL_ILLOPN: the instruction does not permit its operand"},
    {signals::kIll, signals::kIllPrvopc, "ILL_PRVOPC: the instruction is the kernel's"},
    {signals::kFpe, signals::kFpeIntdiv, "FPE_INTDIV: an integer was divided by zero"},
    {signals::kFpe, signals::kFpeIntovf,
     "FPE_INTOVF: the result of an integer operation is too large"},
});

std::optional<std::string> code_text(int signal, int code) {
    const auto* const found = std::ranges::find_if(kSignalCodes, [&](const SignalCode& known) {
        return known.signal == signal && known.code == code;
    });
    if (found != kSignalCodes.end()) {
        return std::string(found->text);
    }
    switch (code) {
        case signals::kUser:
            return "SI_USER: sent with kill()";
        case signals::kTkill:
            return "SI_TKILL: sent to the thread, as raise() and abort() do";
        case signals::kQueue:
            return "SI_QUEUE: sent with sigqueue()";
        default:
            return std::nullopt;
    }
}

std::string mapping_text(const records::CrashMapping& mapping) {
    return fmt::format("{:#x}-{:#x} {}{}{}{}{}", mapping.begin_address(), mapping.end_address(),
                       mapping.readable() ? 'r' : '-', mapping.writable() ? 'w' : '-',
                       mapping.executable() ? 'x' : '-', mapping.has_path() ? " " : "",
                       mapping.path());
}

NativeFrameLine frame_line(const records::Crash& page, const records::CrashFrame& frame) {
    NativeFrameLine line{.address = frame.address()};
    if (frame.has_file() && frame.file() < static_cast<std::uint32_t>(page.file_size())) {
        const auto& file = page.file(static_cast<int>(frame.file()));
        line.name = file.name();
        line.file = (std::filesystem::path(file.directory()) / file.name()).native();
        line.is_vm = file.is_vm();
        if (file.has_build_id()) {
            line.build_id = file.build_id();
        }
        if (file.has_begin_address() && file.begin_address() <= frame.address()) {
            line.offset = frame.address() - file.begin_address();
        }
    }
    if (frame.has_symbol()) {
        line.function = frame.symbol();
        if (frame.has_symbol_address() && frame.symbol_address() <= frame.address()) {
            line.function_offset = frame.address() - frame.symbol_address();
        }
    }
    return line;
}

/// Makes lines of the records of one dump.
class CrashLines {
  public:
    static Result<CrashLines> open(Dump& dump, bool hidden) {
        auto schedulers = scheduler_lines(dump);
        if (!schedulers && schedulers.error().code != ErrorCode::kNotFound) {
            return std::unexpected(std::move(schedulers.error()));
        }
        CrashLines lines(dump, hidden);
        for (auto& line : schedulers ? *schedulers : std::vector<SchedulerLine>()) {
            lines.schedulers_[line.kind].push_back(std::move(line));
        }
        return lines;
    }

    Result<CrashThreadLine> thread(const records::Crash& page, const records::CrashThread& thread) {
        CrashThreadLine line{.id = thread.thread_id()};
        if (thread.has_name()) {
            line.name = thread.name();
        }
        put_scheduler(thread, line);
        if (thread.has_current_owner_id()) {
            ASSIGN_OR_RETURN(line.process, process(thread.current_owner_id()));
        }
        if (thread.has_in_system_call()) {
            line.in_system_call = thread.in_system_call();
        }
        put_registers(thread, line);
        for (const auto& frame : thread.native_frame()) {
            line.native_frames.push_back(frame_line(page, frame));
        }
        line.native_whole = thread.native_whole();
        if (thread.has_called()) {
            line.called = mfa_text(dump_, thread.called());
        }
        if (thread.called_kind() != records::CRASH_CALL_KIND_UNSPECIFIED) {
            line.called_kind = thread.called_kind() == records::CRASH_CALL_KIND_NIF ? "nif" : "bif";
        }
        for (const auto address : thread.erlang_address()) {
            line.erlang_frames.push_back(place(address));
        }
        line.erlang_more = thread.erlang_more();
        return line;
    }

  private:
    CrashLines(Dump& dump, bool hidden) : dump_(dump), hidden_(hidden) {}

    void put_scheduler(const records::CrashThread& thread, CrashThreadLine& line) {
        const auto kind = static_cast<std::size_t>(thread.scheduler_kind());
        if (!thread.has_scheduler_kind() || kind == 0 || kind >= kCrashSchedulerKinds.size()) {
            return;
        }
        line.scheduler_kind = kCrashSchedulerKinds.at(kind);
        const auto known = schedulers_.find(*line.scheduler_kind);
        const auto at = std::size_t{thread.scheduler_number()} - 1;
        if (known != schedulers_.end() && at < known->second.size()) {
            line.scheduler = known->second[at].scheduler;
            line.scheduler_state = known->second[at].state;
        }
    }

    /// Hidden registers are zeros in the dump.
    void put_registers(const records::CrashThread& thread, CrashThreadLine& line) const {
        if (hidden_ || thread.general_register_size() != static_cast<int>(kRegisterNames.size())) {
            return;
        }
        line.registers.emplace_back("rip", thread.instruction_address());
        for (std::size_t at = 0; at < kRegisterNames.size(); ++at) {
            line.registers.emplace_back(kRegisterNames.at(at),
                                        thread.general_register(static_cast<int>(at)));
        }
    }

    /// A process that the dump does not list has its pid alone.
    Result<std::optional<ProcessLine>> process(std::uint64_t owner_id) {
        ProcessLine line;
        line.pid = pid_text(owner_id);
        const auto row = dump_.find_process(line.pid);
        if (!row && row.error().code != ErrorCode::kNotFound) {
            return std::unexpected(row.error());
        }
        return row ? named_line(dump_, *row) : line;
    }

    ErlangFrameLine place(std::uint64_t address) {
        ErlangFrameLine line{.address = address};
        if (const auto location = dump_.code().at(address)) {
            line.function = location->function
                                ? std::optional(function_text(dump_, *location->function))
                                : location->code_point;
            line.file = location->file;
            line.line = location->line;
        }
        return line;
    }

    Dump& dump_;
    bool hidden_;
    std::map<std::string, std::vector<SchedulerLine>> schedulers_;
};

void put_signal(const records::Crash& first, Crash& crash) {
    crash.signal = first.signal();
    crash.signal_name = signal_name(crash.signal);
    if (first.has_code()) {
        crash.code = first.code();
        crash.code_text = code_text(crash.signal, first.code());
    }
    if (first.has_fault_address()) {
        crash.fault_address = first.fault_address();
    }
    if (first.has_fault_mapping()) {
        crash.fault_mapping = mapping_text(first.fault_mapping());
    }
    if (first.has_sender_pid()) {
        crash.sender_pid = first.sender_pid();
    }
    if (first.has_sender_user()) {
        crash.sender_user = first.sender_user();
    }
    if (first.has_abort_text()) {
        crash.abort_text = first.abort_text();
    }
}

/// How the node ended where the dump has no Crash record.
NodeEnd end_without_record(records::CaptureMode mode) {
    switch (mode) {
        case records::CAPTURE_MODE_CRASH_DUMP:
            return NodeEnd::kCrashDump;
        case records::CAPTURE_MODE_FREEZE:
        case records::CAPTURE_MODE_LIVE:
        case records::CAPTURE_MODE_SNAPSHOT:
        case records::CAPTURE_MODE_AUTO:
            return NodeEnd::kRunning;
        default:
            return NodeEnd::kUnknown;
    }
}

}  // namespace

std::string NativeFrameLine::text() const {
    const auto plus = [](std::optional<std::uint64_t> bytes) {
        return bytes && *bytes != 0 ? fmt::format("+{:#x}", *bytes) : std::string();
    };
    if (function) {
        return fmt::format("{}{}{}", *function, plus(function_offset),
                           name.empty() ? "" : " in " + name);
    }
    return name.empty() ? fmt::format("{:#x}", address) : name + plus(offset);
}

Result<Crash> read_crash(Dump& dump, const std::string& file) {
    Crash crash{.dump = dump_facts(dump, file)};
    const auto& offsets = dump.trailer().crash_offset();
    if (offsets.empty()) {
        crash.end = end_without_record(dump.capture().mode());
        if (dump.capture().has_slogan()) {
            crash.slogan = dump.capture().slogan();
        }
        return crash;
    }
    ASSIGN_OR_RETURN(auto lines, CrashLines::open(dump, crash.dump.redaction.has_value()));
    std::optional<records::Crash> first;
    for (const auto offset : offsets) {
        ASSIGN_OR_RETURN(auto page, dump.reader().message_at<records::Crash>(
                                        offset, format::RecordKind::kCrash));
        for (const auto& thread : page.thread()) {
            ASSIGN_OR_RETURN(auto line, lines.thread(page, thread));
            if (!first && !crash.died) {
                crash.died = std::move(line);
            } else if (crash.others.size() == kMostThreads) {
                return fail(ErrorCode::kCorrupt,
                            fmt::format("the dump has over {} threads", kMostThreads));
            } else {
                crash.others.push_back(std::move(line));
            }
        }
        if (!first) {
            first = std::move(page);
        }
    }
    if (!first->has_signal()) {
        crash.end = NodeEnd::kRunning;
        crash.died.reset();
        return crash;
    }
    crash.end = NodeEnd::kSignal;
    put_signal(*first, crash);
    crash.causes = causes_of(crash, *first, dump.capture().os_pid());
    return crash;
}

}  // namespace beamdump::query
