#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/injection_ptrace.h>

/// What this program cannot do on aarch64 yet.
namespace beamdump::target {
namespace {

std::unexpected<Error> no_twin() {
    return fail(ErrorCode::kUnsupported, "this program cannot make a node's twin on aarch64 yet");
}

}  // namespace

std::vector<std::string> borrowable_threads() {
    return {};
}

Result<Injection> Injection::prepare(pid_t /*pid*/, std::span<const std::string> /*threads*/,
                                     bool /*filtered_too*/) {
    return no_twin();
}

Result<void> Injection::write_frames(const ThreadStop& /*stop*/) {
    return no_twin();
}

Result<NewTwin> Injection::run(std::int64_t /*deadline_ns*/) {
    return no_twin();
}

void Injection::call_off(pid_t /*thread*/, const ThreadStatus& /*look*/) const {}

bool Injection::let_go() const {
    return true;  // nothing was made
}

Result<void> run_through_call(pid_t /*thread*/, long /*call*/, std::int64_t /*deadline_ns*/) {
    return no_twin();
}

Result<void> await_start(pid_t /*thread*/, std::int64_t /*deadline_ns*/) {
    return no_twin();
}

}  // namespace beamdump::target
