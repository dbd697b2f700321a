#pragma once

#include <libdump/profile/samples.h>
#include <libsample/events/sample.h>
#include <libsample/node/live_terms.h>
#include <libsample/node/observed_node.h>
#include <libsample/stack/stack_walk.h>
#include <libvm/beam/processes/process.h>
#include <libvm/beam/processes/process_proof.h>
#include <libvm/beam/processes/translated_call.h>
#include <libvm/beam/processes/yield_state.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// How it is known that a stack is of one moment.
enum class StackProof : std::uint8_t {
    kUnchanged,  ///< the process's structure was the same before and after the stack was read
    kSampled,    ///< the kernel copied registers and stack in one interrupt of the thread
    kNative,     ///< in a native call, during which the process's stack does not change
    kStopped,    ///< all threads of the node stood
};

struct ProcessStack {
    ProcessIdentity process{};
    StackProof proof = StackProof::kUnchanged;
    std::vector<std::string> frames{};  ///< functions, the innermost first
    bool more = false;                  ///< further frames are left out
};

/// Why a stack is not shown.
enum class StackMiss : std::uint8_t {
    kNone,
    kRunning,     ///< its stack is in registers, or in use by native code
    kCollecting,  ///< garbage collection moves its stack
    kLocked,      ///< another thread works on it
    kChanged,     ///< it went on between the two readings
    kTorn,        ///< the words read are not those of a stack
    kExiting,     ///< it has ended or is about to
};

/// One try to read a stack.
struct StackTry {
    std::optional<ProcessStack> stack{};
    StackMiss miss = StackMiss::kNone;  ///< without a stack
    std::string why{};                  ///< of kTorn: what contradicts
};

/// Fields of a process's structure that say where its stack is.
struct StackBounds {
    Address heap = 0, hend = 0, stop = 0;
    bool operator==(const StackBounds&) const = default;
};

/// The fragment that calls a BIF without leaving Erlang code. In the scheduler's registers, which
/// begin right behind the word that return_slot() names, it keeps the place that calls (TMP_MEM[0])
/// and the BIF's export entry (TMP_MEM[1]; jit/x86/instr_bif.cpp, emit_call_light_bif_shared();
/// read off the code of OTP 25.2.3, 27.3.4 and 29.1.1).
inline constexpr std::string_view kLightBif = "call_light_bif_shared";
inline constexpr Address kCallPlace = 8;
inline constexpr Address kExportEntry = 16;

/// The fragments that note the function that they call in the process (`current`).
bool notes_function(std::string_view fragment);

/// Whether the code at a return address of native code begins with taking the stack's top from the
/// process's structure, that is, whether the call has left it there (emit_leave_runtime<eStack>());
/// otherwise the JIT's code has kept it in a register, which native code may have saved anywhere.
/// `htop`, `stop`: of Process.
bool takes_saved_stack(beam::Vm& vm, const beam::Field& htop, const beam::Field& stop,
                       Address returns_to);

/// Reads stacks of single processes of a node. Every stack that it gives is of one moment.
class ProcessStacks {
  public:
    /// `frames`: of a stack, at most; the innermost are kept. Non-owning.
    static Result<ProcessStacks> open(ObservedNode& node, std::size_t frames);

    /// Of a process that does not run: its structure, its stack, its structure again. `stopped`:
    /// all threads stand, so that another's lock does not matter. Only kTargetDied is an error.
    Result<StackTry> at_rest(const beam::IdSlot& slot, bool stopped);

    /// Of a process that runs, in a stop of all threads, where its state is known. kRunning: it is
    /// not, or does not fit the process.
    Result<StackTry> standing(const beam::IdSlot& slot, const beam::YieldState& known);

    /// Of the process that a thread ran at a sample, if that was in Erlang code. kRunning: it was
    /// in native code.
    Result<StackTry> sampled(const Sample& sample);

    /// Of a process whose scheduler runs native code that the process called: a BIF or NIF, after
    /// which the JIT's code takes the stack from the structure. `scheduler`: its structure.
    /// `stands`: whether the thread has not run since before this call, asked when all is read; a
    /// null function: it runs, and a sample has just shown that it will return to `returns_to`;
    /// then the structure, the return address and the stack must be the same before and after.
    Result<StackTry> native(const beam::IdSlot& slot, Address scheduler,
                            std::optional<Address> returns_to, const std::function<bool()>& stands);

    /// Whether the process of the last at_rest() without a stop is as it was then.
    Result<bool> is_as_read(const beam::IdSlot& slot);

    /// Of a process that runs: where it last paused, by its structure. The words of its stack may
    /// be newer than that: what is shown is possible, not certain. StackProof does not apply.
    Result<StackTry> last_pause(const beam::IdSlot& slot);

    /// Where the native code in which a scheduler's thread was sampled will return to in Erlang
    /// code. Nothing: it was in Erlang code, or the sample does not reach as far.
    std::optional<Address> native_return(Address scheduler, const Sample& sample);

    /// Whether a scheduler is in the native call of a sample, or in an equal one: the place that it
    /// returns to, and for kLightBif the place that called and the BIF.
    bool is_in_call_of(Address scheduler, const Sample& sample);
    /// The structure of the process that a scheduler has; 0: none.
    Result<Address> current_process(Address scheduler);

    /// The word of a normal scheduler's thread that holds where native code returns to.
    /// `scheduler`: its structure.
    Result<Address> return_slot(Address scheduler);
    bool takes_saved_stack(Address returns_to) {
        return sampler::takes_saved_stack(parts_.node.vm(), parts_.htop, parts_.stop, returns_to);
    }
    /// Whether the code before a return address is a call of what a register says: a fragment calls
    /// a BIF so, and the emulator's own functions directly (emit_call_light_bif_shared(),
    /// jit/x86/instr_bif.cpp, OTP 25 to 29).
    bool calls_by_register(Address returns_to);
    /// The BIF of an export entry, as the VM prints it.
    std::optional<std::string> bif_of(Address export_entry);
    /// Who has this structure, as far as is read while it runs: no label.
    Result<std::optional<ProcessIdentity>> identify(const beam::IdSlot& slot);
    /// Where a process's stack is, by its structure at this moment; nothing if it cannot be read.
    std::optional<StackBounds> bounds_of(Address process);
    /// The function that a process has noted as current; nothing if none is.
    std::optional<std::string> noted_function(Address process);

    /// The slot of the process with this structure; nothing if no process has it now.
    std::optional<beam::IdSlot> slot_of(Address process);
    /// The id of the process with this structure, as in ProcessIdentity.
    std::optional<std::uint64_t> owner_of(Address process);

  private:
    struct Parts {
        ObservedNode& node;
        beam::ProcessReader reader;
        beam::ProcessProof proof;
        beam::TranslatedCalls calls;
        beam::DictionaryReader dictionaries;
        LiveTerms terms;
        beam::IdTable table;
        beam::PidWords pids;
        beam::Field id, heap, hend, reg, htop, stop, current, export_mfa, current_process;
        std::optional<std::uint32_t> label_atom;
        std::size_t frames;
    };
    explicit ProcessStacks(Parts parts) : parts_(std::move(parts)) {}

    Result<std::optional<beam::ProcessView>> decode(const beam::IdSlot& slot,
                                                    std::span<const std::byte> structure,
                                                    bool yielded = false);
    void read_ahead(const beam::ProcessView& process);
    ProcessIdentity identity(const beam::ProcessView& process, bool with_label);
    Result<StackTry> shown(const beam::ProcessView& process, StackProof proof,
                           Result<StackFrames> frames, ProcessIdentity identity);
    /// The BIF that the scheduler's process is in, called by way of kLightBif.
    std::optional<std::string> light_bif(Address scheduler);
    Result<bool> read_words(const beam::ProcessView& process);
    Result<StackFrames> walk_words(const beam::ProcessView& process);
    Result<StackFrames> walk(const std::function<Result<StackFrames>()>& once);

    Parts parts_;
    beam::ProcessReading before_, after_;
    std::vector<std::uint64_t> words_;
    std::vector<std::byte> head_;  // of a structure
};

/// Whether the error ends the whole observation, not only one try.
inline bool ends_all(const Error& error) {
    return error.code == ErrorCode::kTargetDied || error.code == ErrorCode::kPermission;
}

}  // namespace beamdump::sampler
