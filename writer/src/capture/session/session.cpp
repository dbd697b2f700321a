#include "capture/session/session.h"

#include "capture/node/activity_capture.h"
#include "capture/node/memory_capture.h"
#include "capture/node/persistent_capture.h"

#include <libdump/base/error.h>
#include <libdump/base/return_if_error.h>
#include <libdump/redact/redactor.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/tables/node_tables.h>
#include <libvm/beam/vm/vm.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace beamdump::capture {
namespace {

/// Tells a redactor where the target's memory is, as the mappings were last read. Null: nothing.
void note_memory(beam::Vm& vm, redact::Redactor* redactor) {
    if (redactor == nullptr) {
        return;
    }
    for (const auto& mapping : vm.target().mappings().all()) {
        redactor->memory_at(mapping.range.begin, mapping.range.end);
    }
}

/// Tells a redactor which atoms name modules and functions, which have to be known before the atoms
/// are written. A module whose functions cannot be read keeps its own name only. Null: nothing.
Result<void> note_code(beam::Vm& vm, const std::vector<beam::ModuleCode>& modules,
                       redact::Redactor* redactor) {
    if (redactor == nullptr) {
        return {};
    }
    ASSIGN_OR_RETURN(auto reader, beam::ModuleReader::open(vm));
    for (const auto& code : modules) {
        redactor->code_atom(code.name_atom);
        const auto record = reader.module(code);
        for (std::uint32_t first = 0; record && first < record->function_count();
             first += limits::kFunctionsOfAPage) {
            const auto page = reader.functions(code, first, limits::kFunctionsOfAPage);
            if (!page) {
                break;
            }
            for (const auto atom : page->name_atom()) {
                redactor->code_atom(atom);
            }
        }
    }
    return {};
}

/// Size of the smallest member of a chain: a heap fragment's header, a link.
constexpr std::uint64_t kSmallestMemberBytes = 40;
/// A bound for the number of bytes in the target: its resident memory, if known.
std::uint64_t most_bytes(const target::Target& target) {
    if (const auto resident = target.resident_bytes()) {
        return *resident;
    }
    std::uint64_t bytes = 0;
    for (const auto& mapping : target.mappings().all()) {
        bytes += mapping.readable ? mapping.range.bytes() : 0;
    }
    return bytes;
}

void add_stops(const std::vector<target::StopCost>& stops, records::CaptureCost& cost) {
    cost.set_total_stopped_ns(0);
    cost.set_longest_stop_ns(0);
    for (const auto& stop : stops) {
        auto& stopped = *cost.add_stop();
        stopped.set_begin_monotonic_ns(stop.begin_monotonic_ns);
        stopped.set_length_ns(stop.length_ns);
        stopped.set_threads(stop.threads);
        cost.set_total_stopped_ns(cost.total_stopped_ns() + stop.length_ns);
        cost.set_longest_stop_ns(std::max(cost.longest_stop_ns(), stop.length_ns));
    }
}

/// Where the JIT's code calls native code, for stops; none is known of an emulator whose code
/// cannot be found.
Result<beam::NativeCalls> native_calls_of(beam::Vm& vm, const CaptureOptions& options) {
    std::vector<beam::JitRange> fragments;
    if (vm.facts().jit && !options.core && options.mode != records::CAPTURE_MODE_LIVE) {
        ASSIGN_OR_RETURN(const auto search, beam::ImageSearch::read(vm.target()));
        const auto jit = beam::find_jit_self(vm, search);
        if (!jit && jit.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(jit.error());
        }
        for (const auto& module : jit ? jit->modules : std::vector<beam::JitModule>()) {
            fragments.insert(fragments.end(), module.ranges.begin(), module.ranges.end());
        }
    }
    return beam::NativeCalls::open(vm, fragments);
}

}  // namespace

Session::Session(const CaptureOptions& options, std::unique_ptr<beam::Vm> vm, Choice choice,
                 DumpWriter writer, ProgressListener& listener, const std::atomic<bool>& cancelled,
                 format::TermScheme scheme, beam::YieldState yield_state,
                 beam::NativeCalls native_calls, beam::Collectors collectors)
    : options_(options),
      vm_(std::move(vm)),
      choice_(std::move(choice)),
      writer_(std::move(writer)),
      listener_(listener),
      cancelled_(cancelled),
      stopper_({*vm_, writer_, options.stops, [this](std::string text) { warn(std::move(text)); },
                [this] { return cancelled_ || out_of_time(); }, options.patience},
               std::move(yield_state), std::move(native_calls), std::move(collectors)),
      copier_(writer_, vm_->bulk(),
              vm_->target().has_swapped_pages() ? &vm_->target().pages() : nullptr, scheme,
              cookies_.cookies().texts(), vm_->sizes().list_blocks),
      node_(*vm_, copier_, cookies_.cookies(), trailer_),
      ets_(*vm_, copier_, trailer_),
      index_(writer_),
      started_ns_(target::clock_ns(CLOCK_MONOTONIC)) {}

Result<std::unique_ptr<Session>> Session::begin(const CaptureOptions& options,
                                                std::unique_ptr<beam::Vm> vm,
                                                const LayoutDoubts& doubts, Choice choice,
                                                DumpWriter writer, ProgressListener& listener,
                                                const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto scheme, vm->layout().constant(beam::runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(auto yield_state, beam::YieldState::open(vm->layout()));
    ASSIGN_OR_RETURN(auto native_calls, native_calls_of(*vm, options));
    ASSIGN_OR_RETURN(auto collectors, beam::Collectors::open(*vm));
    std::unique_ptr<Session> session(
        new Session(options, std::move(vm), std::move(choice), std::move(writer), listener,
                    cancelled, static_cast<format::TermScheme>(scheme), std::move(yield_state),
                    std::move(native_calls), std::move(collectors)));
    auto& self = *session;
    note_memory(*self.vm_, options.redactor.get());
    RETURN_IF_ERROR(self.node_.capture_record(
        options, doubts, target::clock_ns(CLOCK_REALTIME) / 1000, self.started_ns_));
    if (options.samples != nullptr) {
        RETURN_IF_ERROR(self.node_.samples(*options.samples));
    }
    if (options.history) {
        RETURN_IF_ERROR(self.node_.history(*options.history));
    }
    if (auto said = doubts.sentence(self.vm_->facts(), self.vm_->layout())) {
        self.warn(std::move(*said));
    }
    return session;
}

Result<void> Session::checkpoint(std::string_view phase, std::uint64_t done,
                                 std::optional<std::uint64_t> total) {
    if (cancelled_) {
        return fail(ErrorCode::kIo,
                    options_.core
                        ? "interrupted; the dump is incomplete"
                        : "interrupted; the node continues to run, the dump is incomplete");
    }
    listener_.update({phase, done, total, read_so_far().bytes, writer_.stats().file_bytes});
    return {};
}

memory::MemoryStats Session::read_so_far() const {
    const auto own = vm_->bulk().stats();
    return {own.bytes + read_aside_.bytes, own.reads + read_aside_.reads};
}

void Session::count_reads(memory::MemoryStats stats) {
    read_aside_.bytes += stats.bytes;
    read_aside_.reads += stats.reads;
}

bool Session::wants(std::span<const std::byte> structure) const {
    return !options_.no_heaps && choice_.wants(structure);
}

records::VoidReason Session::skip_reason(std::span<const std::byte> structure) const {
    if (!wants(structure)) {
        return records::VOID_REASON_LEFT_OUT;
    }
    // Its size only where it matters: this is asked of each process.
    const bool limited = used_up() || (options_.max_bytes && exceeds(choice_.bytes(structure)));
    return limited ? records::VOID_REASON_LIMIT : records::VOID_REASON_NONE;
}

/// Whether `bytes` more bytes would exceed the output's limit, which there is, compressed as those
/// before them.
bool Session::exceeds(std::uint64_t bytes) const {
    const auto written = writer_.stats();
    const auto ratio = static_cast<double>(written.file_bytes + 1) /
                       static_cast<double>(std::max<std::uint64_t>(written.flat_bytes, 1));
    return static_cast<double>(written.file_bytes) +
               static_cast<double>(bytes) * std::min(ratio, 1.0) >
           static_cast<double>(*options_.max_bytes);
}

bool Session::out_of_time() const {
    return options_.timeout &&
           target::clock_ns(CLOCK_MONOTONIC) - started_ns_ > options_.timeout->count() * 1'000'000;
}

bool Session::used_up() const {
    return out_of_time() ||
           (options_.max_bytes && writer_.stats().file_bytes > *options_.max_bytes);
}

Result<void> Session::epoch(records::MemorySourceKind source) {
    note_memory(*vm_, options_.redactor.get());
    return node_.epoch(++epoch_, source);
}

Result<std::unique_ptr<beam::CodeLookup>> Session::find_code(const beam::Moving& moving) {
    return beam::read_steadily(moving, *vm_, [this]() -> Result<std::unique_ptr<beam::CodeLookup>> {
        // The node ran since its tables were located: locate them again.
        RETURN_IF_ERROR(vm_->refresh());
        ASSIGN_OR_RETURN(auto code, beam::CodeLookup::read(*vm_));
        return std::make_unique<beam::CodeLookup>(std::move(code));
    });
}

Result<void> Session::find_cookies(const beam::Moving& moving) {
    ASSIGN_OR_RETURN(const auto code, find_code(moving));
    return cookies_.find(*vm_, *code, moving);
}

Result<void> Session::node_facts(records::MemorySourceKind source, const beam::Moving& moving) {
    ASSIGN_OR_RETURN(auto code, find_code(moving));
    RETURN_IF_ERROR(cookies_.find(*vm_, *code, moving));
    RETURN_IF_ERROR(epoch(source));
    RETURN_IF_ERROR(node_.node(code->modules()));
    RETURN_IF_ERROR(note_code(*vm_, code->modules(), options_.redactor.get()));
    RETURN_IF_ERROR(beam::read_steadily(moving, *vm_, [this] { return node_.atoms(); }));
    RETURN_IF_ERROR(node_.modules(code->modules()));
    RETURN_IF_ERROR(beam::read_steadily(moving, *vm_, [this] { return node_.tables(); }));
    RETURN_IF_ERROR(node_.ports());
    RETURN_IF_ERROR(write_schedulers(*vm_, writer_, trailer_));
    const bool stopped = source == records::MEMORY_SOURCE_STOPPED;
    ASSIGN_OR_RETURN(auto resource_types,
                     write_emulator(*vm_, code->modules(), stopped, writer_, trailer_));
    RETURN_IF_ERROR(write_timers(*vm_, writer_, trailer_, moving()));
    RETURN_IF_ERROR(write_distribution(*vm_, writer_, trailer_, moving));
    BlocksWanted blocks{options_.blocks,
                        options_.binary_bytes.value_or(beam::UsedBlockReader::kMostFirstBytes),
                        &copier_.secrets()};
    if (options_.search_pointers) {
        blocks.search_while = [this] { return checkpoint("addresses of blocks", 0, std::nullopt); };
    }
    RETURN_IF_ERROR(write_memory(*vm_, writer_, trailer_, node_.atom_space(), moving,
                                 stopped ? kFreeBlockBytesInAStop : kFreeBlockBytes, blocks));
    RETURN_IF_ERROR(ets_.tables(moving, options_.mode != records::CAPTURE_MODE_CORE));
    ASSIGN_OR_RETURN(auto binaries, BinaryStore::open(*vm_, copier_, options_.binary_bytes));
    binaries.set_moving(moving());
    binaries.know_resource_types(std::move(resource_types));
    RETURN_IF_ERROR(beam::read_steadily(moving, *vm_, [&] { return literals(binaries); }));
    RETURN_IF_ERROR(persistent_terms(binaries, moving));
    return open_processes(std::move(code), std::move(binaries));
}

Result<void> Session::literals(BinaryStore& binaries) {
    if (options_.no_literals) {
        return node_.no_literals();
    }
    RETURN_IF_ERROR(node_.literals(binaries));
    return binaries.settle();
}

Result<void> Session::persistent_terms(BinaryStore& binaries, const beam::Moving& moving) {
    PersistentTermsWanted wanted;
    wanted.words = !options_.no_literals;
    wanted.validate = options_.validate;
    wanted.epoch = epoch_;
    wanted.go_on = [this]() -> Result<bool> {
        RETURN_IF_ERROR(checkpoint("persistent terms", 0, std::nullopt));
        return !used_up();
    };
    return write_persistent_terms(*vm_, copier_, binaries, trailer_, moving, wanted);
}

Result<void> Session::node_growth() {
    // A cookie that was set meanwhile is among the atoms that are written now.
    RETURN_IF_ERROR(cookies_.find(*vm_, processes_->capture.code(), always));
    return beam::read_steadily(always, *vm_, [this]() -> Result<void> {
        RETURN_IF_ERROR(vm_->refresh());
        note_memory(*vm_, options_.redactor.get());
        ASSIGN_OR_RETURN(auto modules, beam::read_modules(*vm_));
        RETURN_IF_ERROR(note_code(*vm_, modules, options_.redactor.get()));
        RETURN_IF_ERROR(node_.atoms());
        RETURN_IF_ERROR(node_.modules(modules));
        RETURN_IF_ERROR(node_.tables());
        RETURN_IF_ERROR(write_progress_again(*vm_, writer_, trailer_));
        return options_.no_literals ? Result<void>() : literals(processes_->capture.binaries());
    });
}

Result<void> Session::crash(const sampler::CrashFacts& facts) {
    ASSIGN_OR_RETURN(const auto reading, sampler::read_crash(*vm_, facts));
    for (const auto& page : reading.pages) {
        RETURN_IF_ERROR(append_noted(writer_, format::RecordKind::kCrash, page,
                                     *trailer_.mutable_crash_offset()));
    }
    for (const auto& sentence : reading.missing) {
        warn("crash: " + sentence);
    }
    if (reading.state) {
        stopper_.know(reading.state->first, reading.state->second);
    }
    return {};
}

Result<void> Session::no_crash() {
    return append_noted(writer_, format::RecordKind::kCrash, records::Crash(),
                        *trailer_.mutable_crash_offset());
}

Result<void> Session::open_processes(std::unique_ptr<beam::CodeLookup> code, BinaryStore binaries) {
    ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(*vm_));
    auto& target = vm_->target();
    ASSIGN_OR_RETURN(auto capture,
                     ProcessCapture::open({*vm_, std::move(code), copier_, std::move(binaries),
                                           index_, most_bytes(target) / kSmallestMemberBytes,
                                           !target.has_swapped_pages(), node_.dictionary_keys(),
                                           options_.redactor.get()}));
    processes_.emplace(table, std::move(capture));
    return {};
}

EtsRowsWanted Session::ets_wanted() const {
    const bool some = options_.no_heaps || options_.top || !options_.processes.empty();
    return options_.ets.value_or(some ? EtsRowsWanted::kNone : EtsRowsWanted::kSample);
}

Result<void> Session::ets_rows(bool moving, const Watch* watch) {
    if (!ets_rows_left()) {
        return {};
    }
    RETURN_IF_ERROR(checkpoint("ETS tables", 0, std::nullopt));
    EtsCapture::Pass pass;
    pass.moving = moving;
    pass.validate = options_.validate;
    pass.epoch = epoch_;
    pass.go_on = [&]() -> Result<bool> {
        RETURN_IF_ERROR(checkpoint("ETS tables", 0, std::nullopt));
        if (watch != nullptr) {
            ASSIGN_OR_RETURN(const auto reason, (*watch)());
            if (reason != records::VOID_REASON_NONE) {
                return false;
            }
        }
        return !used_up();
    };
    auto& binaries = processes_->capture.binaries();
    if (moving) {
        binaries.set_moving(true);
    }
    auto done = ets_.rows(ets_wanted(), pass, binaries);
    // A twin that died does not fail the capture: the rest is read from the node.
    const bool twin_died =
        !done && !moving && watch != nullptr && done.error().code == ErrorCode::kTargetDied;
    return twin_died ? Result<void>() : done;
}

Result<NodeStop> Session::stop(std::optional<std::chrono::nanoseconds> longest,
                               target::Settling settling) {
    return stopper_.stop(longest, std::move(settling), [this] {
        vm_->forget();
        if (processes_) {
            processes_->capture.binaries().set_moving(true);
        }
    });
}

bool Session::can_continue_without_stops(const Error& error, std::size_t left) {
    const bool refused = error.code == ErrorCode::kLimit || error.code == ErrorCode::kPermission ||
                         error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kExists;
    if (refused) {
        warn(
            fmt::format("{} processes kept changing and are left out, since the node could not be "
                        "stopped for them: {}",
                        left, error.message));
    }
    return refused;
}

Result<void> Session::totals() {
    auto& capture = processes_->capture;
    auto& binaries = capture.binaries();
    RETURN_IF_ERROR(binaries.finish(trailer_));
    ets_.finish();
    auto& totals = *trailer_.mutable_totals();
    totals.MergeFrom(index_.totals());
    totals.set_binaries(binaries.count());
    totals.set_binary_bytes(binaries.bytes());
    totals.set_binary_bytes_captured(binaries.captured_bytes());
    totals.set_words_captured(capture.words());
    for (auto& warning : cookies_.warnings()) {
        warn(std::move(warning));
    }
    if (binaries.unreadable() != 0) {
        warn(fmt::format("{} binaries could not be read", binaries.unreadable()));
    }
    if (capture.unrecognised() != 0) {
        warn(fmt::format("{} slots of the process table hold no process", capture.unrecognised()));
    }
    if (options_.redactor != nullptr && options_.redactor->unread_words() != 0) {
        warn(options_.redactor->unread());
    }
    return index_.finish(trailer_);
}

Result<CaptureReport> Session::finish() {
    RETURN_IF_ERROR(totals());
    auto& cost = *trailer_.mutable_cost();
    add_stops(stopper_.stops().costs(), cost);
    cost.set_elapsed_ns(target::clock_ns(CLOCK_MONOTONIC) - started_ns_);
    cost.set_bytes_read(read_so_far().bytes);
    cost.set_reads(read_so_far().reads);
    cost.set_retries(retries_);
    trailer_.set_finished_us(target::clock_ns(CLOCK_REALTIME) / 1000);

    CaptureReport report;
    report.totals = trailer_.totals();
    report.cost = cost;
    report.warnings.assign(trailer_.warning().begin(), trailer_.warning().end());
    report.otp_release = vm_->facts().otp_release;
    report.node_name = node_.name();
    ASSIGN_OR_RETURN(auto written, writer_.finish(trailer_));
    report.written = written;
    return report;
}

}  // namespace beamdump::capture
