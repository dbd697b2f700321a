#pragma once

#include <libdump/profile/native_filter.h>
#include <libdump/profile/samples.h>
#include <libsample/profile/node_threads.h>
#include <libvm/target/unwind/native_frames.h>

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beamdump::sampler {

/// Finds out what samples show. docs/sampling.md says how, and what is not known.
class SampleStacks {
  public:
    /// `frames`: of a stack, at most. Non-owning.
    static Result<SampleStacks> open(ObservedNode& node, ProcessStacks& stacks,
                                     NodeThreads& threads, std::size_t frames);

    /// Functions and fragments of shared code whose names a filter accepts, at most `most`. See
    /// target::NativeFrames::functions().
    std::vector<target::NamedFunction> functions(const NativeFilter& wanted, std::size_t most);

    /// target::NativeFrames::variable_at().
    std::optional<std::string> variable_at(Address address) { return native_.variable_at(address); }

    /// What a sample shows; to be called soon after it was taken. `stands`: the thread has stood
    /// still since. Only an error that ends the whole observation is one.
    Result<SampleStack> of(const Sample& sample, bool stands = false);

    /// Reads which modules there are, if a sample of a thread that stood still was of code that is
    /// not known: in a stop there is no time for it.
    void catch_up();

    /// Whether a sample is of Erlang code or of a fragment on the Erlang stack: its registers are
    /// then the process's.
    [[nodiscard]] bool on_erlang_stack(const Sample& sample) const;

    /// Without a sample: the process that a scheduler has, and where that last paused; nothing if
    /// it has none, or that changed while it was read.
    Result<std::optional<SampleStack>> read(const SchedulerPlace& scheduler);

  private:
    /// Where native code was called from, as far as the sample says.
    struct Call {
        Address returns_to = 0;
        std::optional<std::string> fragment{};  ///< if that is in shared code
        Address place = 0;                      ///< of the call in a module's code; 0: not known
        std::optional<std::string> bif{};       ///< if the fragment has noted it
        std::uint64_t call_place = 0, export_entry = 0;  ///< of kLightBif, in the registers
    };

    SampleStacks(ObservedNode& node, ProcessStacks& stacks, NodeThreads& threads,
                 target::NativeFrames native, std::size_t frames)
        : node_(&node),
          stacks_(&stacks),
          threads_(&threads),
          native_(std::move(native)),
          most_(frames) {}

    Result<SampleStack> erlang(const Sample& sample);
    Result<SampleStack> native(const Sample& sample, const SchedulerPlace& scheduler);
    Result<SampleStack> dirty(const Sample& sample, const SchedulerPlace& scheduler);
    Result<Address> process_of(const SchedulerPlace& scheduler);
    target::NativeStack unwind(const Sample& sample, SampleStack& into);
    std::optional<Call> call_of(const Sample& sample, Address slot,
                                const target::NativeStack& unwound);
    Result<void> callers_after(const Call& call, Address slot, Address process,
                               const std::optional<target::JitCaller>& caller, SampleStack& into);
    bool still_in(const Call& call, Address slot);
    Result<std::optional<ProcessIdentity>> identity(Address process);
    std::string function_at(Address place);
    Result<void> take_frames(Result<StackFrames> frames, SampleStack& into);
    void refresh_code();

    ObservedNode* node_;
    ProcessStacks* stacks_;
    NodeThreads* threads_;
    target::NativeFrames native_;
    std::size_t most_;
    std::unordered_map<Address, ProcessIdentity> known_;  // by the address of the structure
    std::vector<std::uint64_t> words_;
    bool stands_ = false;  // the sample's thread
    bool code_is_outdated_ = false;
    std::chrono::steady_clock::time_point code_read_{};
};

}  // namespace beamdump::sampler
