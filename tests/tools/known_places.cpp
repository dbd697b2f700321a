// known_places PID THREAD STEPS: lets a scheduler's thread execute so many instructions of compiled
// code, one by one, and compares at each what is known of the process there (NativeCalls) with its
// memory. Native code is executed whole, up to where it returns. Prints counts as JSON, and the
// first contradiction: a known x register, or a word of the stack, that holds no term.
#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/native/native_calls.h>
#include <libvm/beam/processes/process.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/fit/layout_check.h>
#include <libvm/target/live_target.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/stop/ptrace_calls.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <set>
#include <string>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace beamdump;
using beam::Address;

constexpr std::uint64_t kWord = 8;
constexpr std::size_t kMostStackWords = 64;
constexpr useconds_t kPauseUs = 500;
/// How long native code may take to return before the process is looked for elsewhere.
constexpr std::int64_t kReturnsWithinNs = 200'000'000;
/// How long the thread may be without compiled code before this program gives up.
constexpr std::int64_t kComesBackWithinNs = 30'000'000'000;

/// One traced thread; the others of its process run on.
class TracedThread {
  public:
    explicit TracedThread(pid_t thread) : thread_(thread) {}
    TracedThread(const TracedThread&) = delete;
    TracedThread& operator=(const TracedThread&) = delete;
    ~TracedThread() {
        [[maybe_unused]] const auto cleared = break_at(0);
        ::ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
    }

    Result<void> attach() {
        if (::ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
            return target::ptrace_failed("attaching to", thread_, errno);
        }
        return interrupt();
    }

    Result<void> step() {
        RETURN_IF_ERROR(resume(PTRACE_SINGLESTEP));
        return wait();
    }

    /// Lets it run to a place, or for as long as that may take. Whether it stands there.
    Result<void> run_to(Address place) {
        RETURN_IF_ERROR(break_at(place));
        RETURN_IF_ERROR(resume(PTRACE_CONT));
        const auto end = target::clock_ns(CLOCK_MONOTONIC) + kReturnsWithinNs;
        while (target::clock_ns(CLOCK_MONOTONIC) < end) {
            ASSIGN_OR_RETURN(const bool stands, look());
            if (stands) {
                return break_at(0);
            }
            ::usleep(kPauseUs / 10);
        }
        RETURN_IF_ERROR(interrupt());
        return break_at(0);
    }

    Result<void> run_on() {
        RETURN_IF_ERROR(resume(PTRACE_CONT));
        ::usleep(kPauseUs);
        return interrupt();
    }

  private:
    /// The debug register that has the place, and the one that enables it for instructions.
    Result<void> break_at(Address place) const {
        constexpr auto kFirst = offsetof(user, u_debugreg);
        constexpr std::size_t kControl = 7;
        const auto poke = [&](std::size_t number, Address value) {
            return ::ptrace(PTRACE_POKEUSER, thread_, kFirst + number * kWord, value) == 0;
        };
        const bool done =
            place == 0 ? poke(kControl, 0) && poke(0, 0) : poke(0, place) && poke(kControl, 1);
        if (!done) {
            return target::ptrace_failed("setting a breakpoint in", thread_, errno);
        }
        return {};
    }

    Result<void> resume(__ptrace_request how) {
        if (::ptrace(how, thread_, nullptr, std::exchange(signal_, 0)) != 0) {
            return target::ptrace_failed("resuming", thread_, errno);
        }
        return {};
    }

    Result<void> interrupt() {
        if (::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) {
            return target::ptrace_failed("interrupting", thread_, errno);
        }
        return wait();
    }

    Result<void> wait() {
        while (true) {
            ASSIGN_OR_RETURN(const bool stands, look());
            if (stands) {
                return {};
            }
            ::usleep(1);
        }
    }

    Result<bool> look() {
        int status = 0;
        const auto got = ::waitpid(thread_, &status, __WALL | WNOHANG);
        if (got == 0) {
            return false;
        }
        if (got != thread_ || !WIFSTOPPED(status)) {
            return fail(ErrorCode::kTargetDied, "the thread has ended");
        }
        const bool signalled = status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP;
        signal_ = signalled ? WSTOPSIG(status) : 0;
        return true;
    }

    pid_t thread_;
    int signal_ = 0;
};

/// Where terms of a process, and of what it may refer to without copying, can be.
class TermPlaces {
  public:
    static Result<TermPlaces> open(beam::Vm& vm, const beam::CodeLookup& code) {
        beam::LayoutNames names(vm.layout());
        TermPlaces places(vm);
        places.heap_ = names.field(beam::runtime::Process::heap);
        places.old_heap_ = names.field(beam::runtime::Process::old_heap);
        places.old_htop_ = names.field(beam::runtime::Process::old_htop);
        places.hend_ = names.field(beam::runtime::Process::hend);
        places.mbuf_ = names.field(beam::runtime::Process::mbuf);
        places.next_ = names.field(beam::runtime::ErlHeapFragment::next);
        places.used_ = names.field(beam::runtime::ErlHeapFragment::used_size);
        places.mem_ = names.field(beam::runtime::ErlHeapFragment::mem);
        RETURN_IF_ERROR(names.outcome());
        ASSIGN_OR_RETURN(auto modules, beam::ModuleReader::open(vm));
        for (const auto& one : code.modules()) {
            ASSIGN_OR_RETURN(const auto module, modules.module(one));
            if (module.has_literal_area_end()) {
                places.literals_.push_back(
                    {module.literal_area_address(), module.literal_area_end()});
            }
        }
        return places;
    }

    /// Reads where the process has its terms now. Gives the end of its stack.
    Result<Address> enter(Address process, Address heap_top) {
        auto& memory = vm_->target().memory();
        const auto bytes = beam::end_of({heap_, old_heap_, old_htop_, hend_, mbuf_});
        ASSIGN_OR_RETURN(const auto read, beam::OwnedStruct::read(
                                              memory, process, static_cast<std::uint32_t>(bytes)));
        const auto view = read.view();
        own_ = {{view.get(heap_), heap_top}, {view.get(old_heap_), view.get(old_htop_)}};
        auto fragment = view.get(mbuf_);
        while (fragment != 0) {
            ASSIGN_OR_RETURN(const auto header,
                             beam::OwnedStruct::read(memory, fragment, mem_.offset));
            const auto first = fragment + mem_.offset;
            own_.push_back({first, first + kWord * header.view().get(used_)});
            fragment = header.view().get(next_);
        }
        return view.get(hend_);
    }

    /// Why a word is no term of the process that was entered; empty if it may be one.
    std::string contradiction(std::uint64_t word) {
        const auto tag = word & beam::kPrimaryMask;
        if (tag == beam::kPrimaryImmediate) {
            return {};
        }
        if (tag == beam::kPrimaryHeader) {
            return "a header";
        }
        const auto at = word & ~std::uint64_t{7};
        const auto holds = [at](const beam::Span& span) { return span.holds(at); };
        if (std::ranges::none_of(own_, holds) && std::ranges::none_of(literals_, holds)) {
            return "outside of heaps, fragments and literals";
        }
        const auto first = vm_->target().memory().word(at);
        if (!first) {
            return "unreadable";
        }
        const bool header = (*first & beam::kPrimaryMask) == beam::kPrimaryHeader;
        return header == (tag == beam::kPrimaryBoxed) ? "" : "another kind of term";
    }

  private:
    explicit TermPlaces(beam::Vm& vm) : vm_(&vm) {}

    beam::Vm* vm_;
    beam::Field heap_, old_heap_, old_htop_, hend_, mbuf_, next_, used_, mem_;
    std::vector<beam::Span> literals_, own_;
};

/// Steps, and compares.
class Walk {
  public:
    static Result<Walk> open(beam::Vm& vm, pid_t thread) {
        ASSIGN_OR_RETURN(const auto search, beam::ImageSearch::read(vm.target()));
        ASSIGN_OR_RETURN(const auto jit, beam::find_jit_self(vm, search));
        std::vector<beam::JitRange> fragments;
        for (const auto& module : jit.modules) {
            fragments.insert(fragments.end(), module.ranges.begin(), module.ranges.end());
        }
        ASSIGN_OR_RETURN(auto calls, beam::NativeCalls::open(vm, fragments));
        ASSIGN_OR_RETURN(auto code, beam::CodeLookup::read(vm));
        ASSIGN_OR_RETURN(auto places, TermPlaces::open(vm, code));
        calls.prepare();
        return Walk(vm, thread, std::move(fragments), std::move(calls), std::move(code),
                    std::move(places));
    }

    Result<void> run(int steps) {
        TracedThread thread(thread_);
        RETURN_IF_ERROR(thread.attach());
        bool compiled_before = false;
        auto last_compiled = target::clock_ns(CLOCK_MONOTONIC);
        while (steps_ < steps) {
            ASSIGN_OR_RETURN(const auto registers, target::read_thread_registers(thread_));
            if (in_compiled_code(registers.instruction)) {
                ++steps_;
                compiled_before = true;
                last_compiled = target::clock_ns(CLOCK_MONOTONIC);
                RETURN_IF_ERROR(compare(registers));
                RETURN_IF_ERROR(thread.step());
                continue;
            }
            if (target::clock_ns(CLOCK_MONOTONIC) - last_compiled > kComesBackWithinNs) {
                return fail(ErrorCode::kLimit, "the thread runs no compiled code");
            }
            // A call has left where it returns to on the stack's top.
            const auto returns_to = vm_->target().memory().word(registers.stack_pointer);
            if (std::exchange(compiled_before, false) && returns_to &&
                in_compiled_code(*returns_to)) {
                ++native_calls_;
                RETURN_IF_ERROR(thread.run_to(*returns_to));
            } else {
                RETURN_IF_ERROR(thread.run_on());
            }
        }
        return {};
    }

    [[nodiscard]] std::string text() const {
        return fmt::format(
            R"({{"steps":{},"native_calls":{},"places":{},"known":{},"all_x":{},"whole_frame":{},)"
            R"("x_words":{},"stack_words":{},"contradictions":{},"first":"{}"}})",
            steps_, native_calls_, places_.size(), known_, all_x_, whole_frame_, x_words_,
            stack_words_, contradictions_, first_);
    }

  private:
    Walk(beam::Vm& vm, pid_t thread, std::vector<beam::JitRange> fragments, beam::NativeCalls calls,
         beam::CodeLookup code, TermPlaces terms)
        : vm_(&vm),
          thread_(thread),
          fragments_(std::move(fragments)),
          calls_(std::move(calls)),
          code_(std::move(code)),
          terms_(std::move(terms)) {}

    [[nodiscard]] bool in_compiled_code(Address place) const {
        return code_.in_code(place) ||
               std::ranges::any_of(fragments_, [place](const beam::JitRange& one) {
                   return one.begin <= place && place < one.end;
               });
    }

    Result<void> compare(const target::ThreadRegisters& registers) {
        places_.insert(registers.instruction);
        for (const auto& [process, state] : calls_.states({&registers, 1})) {
            if (!state.on_its_way) {
                continue;
            }
            ++known_;
            all_x_ += state.without_x_registers ? 0 : 1;
            whole_frame_ += state.without_frame ? 0 : 1;
            ASSIGN_OR_RETURN(const auto stack_end, terms_.enter(process, state.heap_top));
            std::vector<std::uint64_t> words(state.arity);
            RETURN_IF_ERROR(read(state.arguments, words));
            for (std::size_t x = 0; x < words.size(); ++x) {
                ++x_words_;
                note(registers, fmt::format("x{}", x), words[x], terms_.contradiction(words[x]));
            }
            words.resize(
                std::min<std::uint64_t>(kMostStackWords, (stack_end - state.stack_top) / kWord));
            RETURN_IF_ERROR(read(state.stack_top, words));
            for (std::size_t y = 0; y < words.size(); ++y) {
                ++stack_words_;
                const bool returns = in_compiled_code(words[y]);
                note(registers, fmt::format("stack {}", y), words[y],
                     returns ? "" : terms_.contradiction(words[y]));
            }
        }
        return {};
    }

    Result<void> read(Address first, std::vector<std::uint64_t>& words) {
        if (!words.empty() &&
            !vm_->target().memory().read(first, std::as_writable_bytes(std::span(words)))) {
            return fail(ErrorCode::kIo, fmt::format("words at {:#x} cannot be read", first));
        }
        return {};
    }

    void note(const target::ThreadRegisters& registers, const std::string& what, std::uint64_t word,
              const std::string& why) {
        if (!why.empty() && contradictions_++ == 0) {
            first_ =
                fmt::format("at {:#x}: {} is {:#x}: {}", registers.instruction, what, word, why);
        }
    }

    beam::Vm* vm_;
    pid_t thread_;
    std::vector<beam::JitRange> fragments_;
    beam::NativeCalls calls_;
    beam::CodeLookup code_;
    TermPlaces terms_;
    std::set<Address> places_;
    int steps_ = 0, native_calls_ = 0, known_ = 0, all_x_ = 0, whole_frame_ = 0;
    std::uint64_t x_words_ = 0, stack_words_ = 0, contradictions_ = 0;
    std::string first_;
};

Result<std::string> walk(pid_t pid, pid_t thread, int steps) {
    const std::atomic<bool> cancelled = false;
    const auto open = [pid] { return target::LiveTarget::open(pid); };
    ASSIGN_OR_RETURN(auto checked, fit::locate_checked(open, {}, beam::kCheckTries, cancelled));
    ASSIGN_OR_RETURN(auto walk, Walk::open(*checked.vm, thread));
    RETURN_IF_ERROR(walk.run(steps));
    return walk.text();
}

}  // namespace

int main(int count, char** arguments) {
    CLI::App app("Steps through compiled code and compares what is known with what is there.");
    pid_t pid = 0;
    pid_t thread = 0;
    int steps = 0;
    app.add_option("PID", pid)->required();
    app.add_option("THREAD", thread)->required();
    app.add_option("STEPS", steps)->required();
    CLI11_PARSE(app, count, arguments);
    const auto told = walk(pid, thread, steps);
    if (!told) {
        fmt::print(stderr, "known_places: {}\n", told.error().message);
        return 1;
    }
    fmt::print("{}\n", *told);
    return 0;
}
