#pragma once

#include <libvm/arch/x86_64/frame_code.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/search/jit_list.h>
#include <libvm/beam/tables/modules.h>

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::beam {

/// Where the words begin of a running process's stack that are certainly its own.
struct InnermostFrame {
    Address place = 0;      ///< in a module's code: where the innermost function is
    Address stack_top = 0;  ///< of its frame, or of its return address
    /// Its frame is left out, since words of it may be of a frame that was there before.
    bool left_out = false;
    /// How many x registers, from the first on, certainly hold terms; whether it uses no others.
    std::uint32_t x_registers = 0;
    bool all_x_registers = false;
};

/// Finds the innermost frame of processes that run in the JIT's code, or in native code that it has
/// called, by the machine code of the function (FrameCode). Memory stands still.
class InnermostFrames {
  public:
    /// `shared`: the code that all modules share.
    static Result<InnermostFrames> open(Vm& vm, std::span<const JitRange> shared);

    /// Reads which modules are loaded.
    Result<void> read_modules();

    /// Whether an address is in a module's code or in shared code.
    [[nodiscard]] bool in_code(Address address) const;

    /// The frame of a process at `place`, whose stack begins at `top`. `native`: the code there has
    /// switched to the thread's own stack. Nothing: the code does not tell, or the stack
    /// contradicts it.
    std::optional<InnermostFrame> find(Address place, Address top, bool native);

  private:
    InnermostFrames(Vm& vm, std::vector<JitRange> shared, const MfaFields& mfa, Field info_mfa)
        : vm_(&vm), shared_(std::move(shared)), mfa_(mfa), info_mfa_(info_mfa) {}
    [[nodiscard]] const JitRange* shared_at(Address place) const;
    std::optional<FramePlace> frame_at(Address begin, Address end, Address place,
                                       const FrameEntry& entry = {});
    std::optional<FramePlace> function_frame(Address place);
    [[nodiscard]] bool leads_to(const FrameCall& call, Address begin) const;
    [[nodiscard]] std::optional<Address> destination(const FrameCall& call) const;
    [[nodiscard]] std::optional<Address> jump_at(Address place) const;
    [[nodiscard]] CallEffect effect_of(const FrameCall& call);
    [[nodiscard]] Address code_of(const CodeMfa& function) const {
        return function.start + info_mfa_.offset + mfa_.bytes;
    }

    Vm* vm_;
    std::vector<JitRange> shared_;
    MfaFields mfa_;
    Field info_mfa_;
    std::optional<CodeLookup> modules_;
    std::map<Address, std::optional<FrameCode>> known_;  // by where the code begins
};

}  // namespace beamdump::beam
