// step_injection PID --borrowed N --reaper N --twin N --last N: plants an injection, lets the
// borrowed thread, the reaper, the twin, and the reaper again execute so many instructions each,
// and ends abruptly. Prints how many were executed, and whether the thread ended or blocked at the
// next.
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/stop/thread_stop.h>
#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/injection_ptrace.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace beamdump;

constexpr std::int64_t kBirthDeadlineNs = 10'000'000'000;

/// Steps one thread, over the stop that a clone makes.
class Stepper {
  public:
    explicit Stepper(pid_t thread) : thread_(thread) {}

    void run(int steps) {
        for (int done = 0; done < steps && !ended_; ++done) {
            ended_ = !step();
            executed_ += ended_ ? 0 : 1;
        }
    }
    /// As the kernel does when its tracer dies, but for the flag that makes it step: a tracer that
    /// dies does not take that back, and a thread that steps untraced is ended by SIGTRAP.
    void let_go() const {
        if (::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr) == 0 || thread_ == 0) {
            return;
        }
        // It blocks in a system call. Interrupted, it stops, and once more for the step's SIGTRAP,
        // which would end it if it were left.
        ::ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
        wait();
        ::ptrace(PTRACE_CONT, thread_, nullptr, nullptr);
        wait();
        ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
    }
    [[nodiscard]] pid_t made() const { return made_; }
    [[nodiscard]] std::string text() const {
        return fmt::format("{{\"steps\":{},\"ended\":{}}}", executed_, ended_);
    }

  private:
    bool step() {
        while (true) {
            if (::ptrace(PTRACE_SINGLESTEP, thread_, nullptr, nullptr) != 0) {
                return false;
            }
            const int status = wait();
            if (!WIFSTOPPED(status)) {
                return false;
            }
            if (status >> 16 != PTRACE_EVENT_CLONE) {
                return true;
            }
            unsigned long made = 0;
            ::ptrace(PTRACE_GETEVENTMSG, thread_, nullptr, &made);
            made_ = static_cast<pid_t>(made);
            [[maybe_unused]] const auto born =
                target::await_start(made_, target::clock_ns(CLOCK_MONOTONIC) + kBirthDeadlineNs);
        }
    }

    /// Its next wait status; 0 where it sleeps or has ended. On a busy machine a step may take
    /// long: a thread that is resumed while it still steps would be ended by SIGTRAP.
    int wait() const {
        constexpr int kMaxAsleep = 20;
        for (int asleep = 0; asleep < kMaxAsleep;) {
            int status = 0;
            const pid_t got = ::waitpid(thread_, &status, __WALL | WNOHANG);
            if (got != 0) {
                return got == thread_ ? status : 0;
            }
            const auto facts = target::process_facts(thread_);
            asleep = facts && facts->state == 'S' ? asleep + 1 : 0;
            ::usleep(200);
        }
        return 0;
    }

    pid_t thread_;
    pid_t made_ = 0;
    int executed_ = 0;
    bool ended_ = false;
};

int report(const Error& error) {
    fmt::print(stderr, "step_injection: {}\n", error.message);
    return 1;
}

}  // namespace

int main(int count, char** arguments) {
    CLI::App app("Single-steps an injection and ends abruptly.");
    pid_t pid = 0;
    int borrowed_steps = 0;
    int reaper_steps = 0;
    int twin_steps = 0;
    int last_steps = 0;
    app.add_option("PID", pid)->required();
    app.add_option("--borrowed", borrowed_steps);
    app.add_option("--reaper", reaper_steps);
    app.add_option("--twin", twin_steps);
    app.add_option("--last", last_steps);
    CLI11_PARSE(app, count, arguments);

    auto injection = target::Injection::prepare(pid, target::borrowable_threads());
    if (!injection) {
        return report(injection.error());
    }
    auto stop = target::ThreadStop::stop(pid);
    if (!stop) {
        return report(stop.error());
    }
    if (auto planted = injection->write_frames(*stop); !planted) {
        return report(planted.error());
    }
    Stepper borrowed(injection->borrowed());
    borrowed.run(borrowed_steps);
    Stepper reaper(borrowed.made());
    Stepper twin(0);
    if (borrowed.made() != 0) {
        reaper.run(reaper_steps);
    }
    if (reaper.made() != 0) {
        twin = Stepper(reaper.made());
        twin.run(twin_steps);
        reaper.run(last_steps);
    }
    fmt::print("{{\"borrowed\":{},\"reaper\":{},\"twin\":{}}}\n", borrowed.text(), reaper.text(),
               twin.text());
    std::fflush(stdout);
    for (const auto* stepper : {&twin, &reaper, &borrowed}) {
        stepper->let_go();
    }
    ::_exit(0);
}
