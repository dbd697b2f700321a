#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libsample/crash/crash_reader.h>
#include <libsample/node/shared_code.h>
#include <libsample/stack/process_stacks.h>
#include <libsample/stack/stack_walk.h>
#include <libvm/arch/call_code.h>
#include <libvm/arch/known_code.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/native/native_calls.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/target/unwind/native_frames.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace beamdump::sampler {
namespace {

/// As much as a sample has.
constexpr std::size_t kNativeStackBytes = 32768;
/// How far below its stack a thread may have stepped: the guard pages of a thread's stack are some
/// pages, and a function's frame is seldom larger.
constexpr std::uint64_t kBelowStack = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMostErlangWords = std::uint64_t{1} << 16U;
constexpr std::size_t kMostErlangPlaces = 128;
constexpr std::size_t kMostSymbolBytes = 200;
constexpr std::size_t kThreadsOfAPage = 64;
constexpr std::size_t kMostAbortText = 1024;
/// The C library's description of a thread begins at its thread pointer and has the values that the
/// thread keeps under keys, the scheduler's structure among them (struct pthread of glibc's
/// nptl/descr.h, 2,304 bytes; erts_get_scheduler_data(), erl_process.h, OTP 25 to 29).
constexpr std::size_t kThreadBytes = 2304;

void put(const target::Mapping& mapping, records::CrashMapping& into) {
    into.set_begin_address(mapping.range.begin);
    into.set_end_address(mapping.range.end);
    into.set_readable(mapping.readable);
    into.set_writable(mapping.writable);
    into.set_executable(mapping.executable);
    if (!mapping.path.empty()) {
        into.set_path(mapping.path);
    }
}

/// The mapping that a stack pointer is in or, where it may not be written to or is none, the next
/// one above that may be. Null: none is near.
const target::Mapping* stack_mapping(const target::Mappings& mappings, Address stack_pointer) {
    const auto& all = mappings.all();
    const auto found = std::ranges::find_if(all, [&](const target::Mapping& mapping) {
        return mapping.range.end > stack_pointer && mapping.writable;
    });
    const bool near = found != all.end() && (found->range.begin <= stack_pointer ||
                                             found->range.begin - stack_pointer <= kBelowStack);
    return near ? &*found : nullptr;
}

/// One thread's scheduler, and the process that it has.
struct RunningScheduler {
    records::SchedulerKind kind = records::SCHEDULER_KIND_UNSPECIFIED;
    std::uint32_t number = 0;
    Address address = 0;
    Address process = 0;  ///< 0: none
    std::optional<std::uint64_t> owner_id{};
};

/// Reads a crash's parts one after another into its pages.
class CrashReader {
  public:
    CrashReader(beam::Vm& vm, const CrashFacts& facts) : vm_(vm), facts_(facts) {}

    Result<CrashReading> read() {
        RETURN_IF_ERROR(open());
        auto& page = new_page();
        put_signal(page);
        const auto& died = facts_.threads.front();
        auto& thread = *page.add_thread();
        put_thread(died, thread);
        const auto scheduler = scheduler_of(died);
        const auto frames = put_native(died, page, thread);
        if (scheduler && scheduler->process != 0) {
            put_erlang(died, *scheduler, frames, thread);
        }
        put_others();
        return std::move(reading_);
    }

  private:
    Result<void> open() {
        const auto take = [&](const Error& error, std::string_view what) -> Result<void> {
            if (error.code == ErrorCode::kTargetDied) {
                return std::unexpected(error);
            }
            reading_.missing.push_back(fmt::format("{}: {}", what, error.message));
            return {};
        };
        if (auto frames = target::NativeFrames::open(vm_.target())) {
            frames_ = std::move(*frames);
        } else {
            RETURN_IF_ERROR(take(frames.error(), "native frames of the thread that died"));
        }
        if (auto code = beam::CodeLookup::read(vm_)) {
            code_ = std::move(*code);
        } else {
            RETURN_IF_ERROR(take(code.error(), "Erlang frames of the thread that died"));
        }
        if (vm_.facts().jit) {
            const auto search = beam::ImageSearch::read(vm_.target());
            const auto jit =
                search ? beam::find_jit_self(vm_, *search) : std::unexpected(search.error());
            if (jit) {
                shared_ = SharedCode(*jit, vm_.tables().code_points);
            } else {
                RETURN_IF_ERROR(take(jit.error(), "the JIT's shared code"));
            }
        }
        return find_schedulers(take);
    }

    template <typename Take>
    Result<void> find_schedulers(const Take& take) {
        auto reader = beam::SchedulerReader::open(vm_);
        const auto read = reader ? reader->read() : std::unexpected(reader.error());
        if (!read) {
            return take(read.error(), "schedulers of the threads");
        }
        for (std::size_t at = 0; at < read->processes.size(); ++at) {
            const auto& record = read->schedulers.scheduler(static_cast<int>(at));
            RunningScheduler found{.kind = record.kind(),
                                   .number = record.number(),
                                   .address = record.struct_address(),
                                   .process = read->processes[at]};
            if (record.has_current_owner_id()) {
                found.owner_id = record.current_owner_id();
            }
            schedulers_.push_back(found);
        }
        return {};
    }

    [[nodiscard]] bool is_jit(Address place) const {
        return (code_ && code_->in_code(place)) || shared_.holds(place);
    }

    records::Crash& new_page() { return reading_.pages.emplace_back(); }

    void put_signal(records::Crash& page) {
        const auto& signal = facts_.signal;
        page.set_signal(signal.number);
        page.set_code(signal.code);
        if (signal.address) {
            page.set_fault_address(*signal.address);
            if (const auto* mapping = vm_.target().mappings().find(*signal.address)) {
                put(*mapping, *page.mutable_fault_mapping());
            }
        }
        if (signal.sender) {
            page.set_sender_pid(*signal.sender);
        }
        if (signal.sender_user) {
            page.set_sender_user(*signal.sender_user);
        }
        if (signal.number == SIGABRT) {
            if (auto text = abort_text(); !text.empty()) {
                page.set_abort_text(std::move(text));
            }
        }
    }

    /// What the C library said as it aborted: it keeps the text for debuggers (__abort_msg of
    /// glibc's sysdeps/posix/libc_fatal.c and assert/assert.c: a size, then the text). Empty: none,
    /// or another library.
    std::string abort_text() {
        const auto& all = vm_.target().mappings().all();
        const auto libc = std::ranges::find_if(all, [](const target::Mapping& mapping) {
            return std::filesystem::path(mapping.path).filename().native().starts_with("libc.so");
        });
        const auto file = libc == all.end() ? std::string() : vm_.target().file_of(*libc);
        auto image = file.empty() ? fail(ErrorCode::kNotFound, "no C library is known")
                                  : target::ElfImage::open(file, 0);
        if (!image) {
            return {};
        }
        image->move_by(libc->range.begin - image->begin());
        const auto variable = image->symbol("__abort_msg");
        auto& memory = vm_.target().memory();
        const auto kept = variable ? memory.word(variable->address) : Result<std::uint64_t>(0);
        if (!kept || *kept == 0) {
            return {};
        }
        std::string text(kMostAbortText, '\0');
        const auto bytes = memory.read_some(*kept + sizeof(std::uint32_t),
                                            std::as_writable_bytes(std::span(text)));
        text.resize(bytes.value_or(0));
        text.resize(std::min(text.find('\0'), text.size()));
        while (text.ends_with('\n')) {
            text.pop_back();
        }
        return text;
    }

    /// The only scheduler whose structure the C library's description of the thread names.
    std::optional<RunningScheduler> scheduler_of(const target::ThreadRegisters& thread) {
        std::array<std::uint64_t, kThreadBytes / kWordBytes> words{};
        if (thread.thread_pointer % kWordBytes != 0 ||
            !vm_.target().memory().read(thread.thread_pointer,
                                        std::as_writable_bytes(std::span(words)))) {
            return std::nullopt;
        }
        std::optional<RunningScheduler> found;
        for (const auto& scheduler : schedulers_) {
            if (scheduler.address == 0 ||
                std::ranges::find(words, scheduler.address) == words.end()) {
                continue;
            }
            if (found) {
                return std::nullopt;
            }
            found = scheduler;
        }
        return found;
    }

    void put_thread(const target::ThreadRegisters& thread, records::CrashThread& into) {
        into.set_thread_id(thread.thread);
        if (const auto name = facts_.thread_names.find(thread.thread);
            name != facts_.thread_names.end()) {
            into.set_name(name->second);
        }
        if (const auto scheduler = scheduler_of(thread)) {
            into.set_scheduler_kind(scheduler->kind);
            into.set_scheduler_number(scheduler->number);
            if (scheduler->owner_id) {
                into.set_current_owner_id(*scheduler->owner_id);
            }
        }
        into.set_instruction_address(thread.instruction);
        for (const auto value : thread.general()) {
            into.add_general_register(value);
        }
        into.set_in_system_call(thread.in_system_call());
        if (const auto* stack = stack_mapping(vm_.target().mappings(), thread.stack_pointer)) {
            put(*stack, *into.mutable_stack());
        }
    }

    /// The place of a file in a page.
    static std::uint32_t file_in(records::Crash& page, const target::NativePlace& place,
                                 bool is_vm) {
        const std::filesystem::path path(place.file);
        for (int at = 0; at < page.file_size(); ++at) {
            if (page.file(at).begin_address() == place.file_begin) {
                return static_cast<std::uint32_t>(at);
            }
        }
        auto& file = *page.add_file();
        file.set_directory(path.parent_path().native());
        file.set_name(path.filename().native());
        if (!place.build_id.empty()) {
            file.set_build_id(place.build_id);
        }
        file.set_begin_address(place.file_begin);
        file.set_is_vm(is_vm);
        return static_cast<std::uint32_t>(page.file_size() - 1);
    }

    void put_frame(Address address, records::Crash& page, records::CrashThread& thread) {
        auto& frame = *thread.add_native_frame();
        frame.set_address(address);
        const auto place = frames_ ? frames_->place_at(address) : target::NativePlace{};
        if (!place.file.empty()) {
            frame.set_file(file_in(page, place, place.file == vm_.target().executable()));
        }
        if (!place.symbol.empty()) {
            frame.set_symbol(place.symbol.substr(0, kMostSymbolBytes));
        }
        if (place.symbol_begin != 0) {
            frame.set_symbol_address(place.symbol_begin);
        }
    }

    /// The native frames of the thread that died; without any where it ran Erlang code.
    target::NativeStack put_native(const target::ThreadRegisters& died, records::Crash& page,
                                   records::CrashThread& thread) {
        if (!frames_ || is_jit(died.instruction)) {
            return {};
        }
        // What is below a stack that overflowed is mapped to nobody: no frame is there, as the call
        // that stepped there failed.
        const auto* mapping = stack_mapping(vm_.target().mappings(), died.stack_pointer);
        const auto below =
            mapping == nullptr
                ? 0
                : mapping->range.begin - std::min(mapping->range.begin, died.stack_pointer);
        std::vector<std::byte> stack(below + kNativeStackBytes);
        const auto read = vm_.target().memory().read_some(died.stack_pointer + below,
                                                          std::span(stack).subspan(below));
        stack.resize(read ? below + *read : 0);
        auto found =
            frames_->unwind(target::stack_of(vm_.target().image().architecture(), died, stack),
                            [this](Address place) { return is_jit(place); });
        for (const auto place : found.places) {
            put_frame(place, page, thread);
        }
        thread.set_native_whole(found.whole);
        return found;
    }

    /// Whether one of the frames is outside of the VM's own file: then the thread is in the middle
    /// of what the VM called.
    [[nodiscard]] bool leaves_vm(const target::NativeStack& frames) const {
        return std::ranges::any_of(frames.places, [&](Address place) {
            const auto* mapping = vm_.target().mappings().find(place);
            return mapping != nullptr && mapping->path.starts_with('/') &&
                   mapping->path != vm_.target().executable();
        });
    }

    /// Fields of a process's structure.
    struct ProcessFields {
        beam::Field hend, heap, htop, stop, current;
        [[nodiscard]] static std::optional<ProcessFields> of(const beam::Layout& layout) {
            beam::LayoutNames names(layout);
            ProcessFields fields{names.field(beam::runtime::Process::hend),
                                 names.field(beam::runtime::Process::heap),
                                 names.field(beam::runtime::Process::htop),
                                 names.field(beam::runtime::Process::stop),
                                 names.field(beam::runtime::Process::current)};
            return names.outcome() ? std::optional(fields) : std::nullopt;
        }
    };

    void put_erlang(const target::ThreadRegisters& died, const RunningScheduler& scheduler,
                    const target::NativeStack& frames, records::CrashThread& thread) {
        const auto fields = ProcessFields::of(vm_.layout());
        const bool known_code = arch::knows_code(vm_.layout().architecture());
        if (!fields || !code_ || !known_code) {
            return;
        }
        const auto process = beam::OwnedStruct::read(
            vm_.target().memory(), scheduler.process,
            static_cast<std::uint32_t>(
                beam::end_of({fields->hend, fields->heap, fields->stop, fields->current})));
        if (!process) {
            return;
        }
        const auto view = process->view();
        put_called(died, scheduler, frames, view.get(fields->current), thread);
        const auto at = erlang_top(died, scheduler, frames, view.get(fields->stop), *fields);
        const auto bottom = view.get(fields->hend);
        if (!at || at->second % kWordBytes != 0 || at->second < view.get(fields->heap) ||
            at->second >= bottom) {
            return;
        }
        put_places(at->first, at->second, bottom, thread);
    }

    /// The BIF or NIF that the process was in.
    void put_called(const target::ThreadRegisters& died, const RunningScheduler& scheduler,
                    const target::NativeStack& frames, Address current,
                    records::CrashThread& thread) {
        std::optional<beam::CodeMfa> called;
        if (scheduler.kind != records::SCHEDULER_KIND_NORMAL) {
            // What a dirty scheduler runs is noted in the process (erts_dirty_process_main(),
            // jit/beam_jit_main.cpp, OTP 25 to 29).
            called = code_->mfa_at(current);
        } else if (leaves_vm(frames) || died.in_system_call()) {
            auto calls = beam::NativeCalls::open(vm_, shared_.fragments());
            const auto call = calls ? calls->call_in_middle(died, scheduler.address) : std::nullopt;
            if (call) {
                called = code_->mfa_at(call->state.code_mfa);
                thread.set_called_kind(call->nif ? records::CRASH_CALL_KIND_NIF
                                                 : records::CRASH_CALL_KIND_BIF);
                reading_.state = {call->process, call->state};
            }
        }
        if (called) {
            auto& mfa = *thread.mutable_called();
            mfa.set_module_atom(called->module_atom);
            mfa.set_function_atom(called->function_atom);
            mfa.set_arity(called->arity);
        }
    }

    /// The place in Erlang code, 0 where it is in none of a module's own, and the top of the stack.
    [[nodiscard]] std::optional<std::pair<Address, Address>> erlang_top(
        const target::ThreadRegisters& died, const RunningScheduler& scheduler,
        const target::NativeStack& frames, Address saved, const ProcessFields& fields) {
        if (scheduler.kind != records::SCHEDULER_KIND_NORMAL) {
            return std::pair(Address{0}, saved);
        }
        if (is_jit(died.instruction)) {
            return std::pair(code_->in_code(died.instruction) ? died.instruction : 0,
                             died.stack_pointer);
        }
        if (reading_.state && !frames.leads_to) {
            return std::pair(Address{0}, saved);
        }
        if (!frames.leads_to) {
            return std::nullopt;
        }
        const auto returns_to = *frames.leads_to;
        const auto place = code_->in_code(returns_to) ? returns_to - 1 : 0;
        if (takes_saved_stack(vm_, fields.htop, fields.stop, returns_to)) {
            return std::pair(place, saved);
        }
        return frames.caller && frames.caller->process == scheduler.process
                   ? std::optional(std::pair(place, beam::saved_stack(vm_, *frames.caller)))
                   : std::nullopt;
    }

    /// Whether the frame of the function that was interrupted may be half made.
    [[nodiscard]] bool is_half_made(const StackRules& rules, Address place,
                                    std::span<const std::uint64_t> words) {
        const auto function = code_->function_at(place);
        if (!function || function->start == 0 || function->start > place) {
            return true;
        }
        constexpr Address kCodeBefore = 1024;
        std::vector<std::byte> code(std::min<Address>(place - function->start, kCodeBefore));
        if (!vm_.target().memory().read(place - code.size(), code)) {
            return true;
        }
        const auto bytes = arch::last_frame_bytes(vm_.layout().architecture(), code);
        return bytes && may_be_half_made(rules, words, *bytes);
    }

    void put_places(Address place, Address top, Address bottom, records::CrashThread& thread) {
        std::vector<std::uint64_t> words(std::min((bottom - top) / kWordBytes, kMostErlangWords));
        if (!vm_.target().memory().read(top, std::as_writable_bytes(std::span(words)))) {
            return;
        }
        const StackRules rules{[this](Address pc) { return is_jit(pc); }, shared_.normal_exit()};
        const auto walked = walk_stack(rules, place, {top, words, bottom}, kMostErlangPlaces);
        if (place != 0) {
            thread.add_erlang_address(place);
        }
        const bool interrupted = place != 0 && place == thread.instruction_address();
        if (!walked || (interrupted && is_half_made(rules, place, words))) {
            thread.set_erlang_more(true);
            return;
        }
        // Some calls of shared code leave a return address that is not aligned as a tagged word.
        if (!interrupted && !words.empty() && code_->in_code(words.front()) &&
            std::ranges::find(walked->returns, words.front()) == walked->returns.end()) {
            thread.add_erlang_address(words.front());
        }
        for (const auto address : walked->returns) {
            if (code_->in_code(address)) {
                thread.add_erlang_address(address);
            }
        }
        thread.set_erlang_more(walked->more);
    }

    void put_others() {
        records::Crash* page = nullptr;
        for (std::size_t at = 1; at < facts_.threads.size(); ++at) {
            if ((at - 1) % kThreadsOfAPage == 0) {
                page = &new_page();
            }
            auto& thread = *page->add_thread();
            put_thread(facts_.threads[at], thread);
            if (!is_jit(facts_.threads[at].instruction)) {
                put_frame(facts_.threads[at].instruction, *page, thread);
            } else if (code_ && code_->in_code(facts_.threads[at].instruction)) {
                thread.add_erlang_address(facts_.threads[at].instruction);
            }
        }
    }

    beam::Vm& vm_;
    const CrashFacts& facts_;
    CrashReading reading_;
    std::optional<target::NativeFrames> frames_;
    std::optional<beam::CodeLookup> code_;
    SharedCode shared_;
    std::vector<RunningScheduler> schedulers_;
};

}  // namespace

Result<CrashReading> read_crash(beam::Vm& vm, const CrashFacts& facts) {
    return CrashReader(vm, facts).read();
}

}  // namespace beamdump::sampler
