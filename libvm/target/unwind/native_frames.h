#pragma once

#include <libdump/base/architecture.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/target.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump::target {

using memory::Address;

/// Registers and the bytes of the stack of a thread at one moment.
struct ThreadStack {
    /// As many as the architecture with the most has, by DWARF's numbers.
    static constexpr std::size_t kRegisters = 33;

    pid_t thread = 0;
    Address instruction = 0;
    Address stack_pointer = 0;
    std::array<std::optional<std::uint64_t>, kRegisters> registers{};  ///< those that are known
    std::span<const std::byte> bytes{};  ///< from the stack pointer on
};

/// What a stopped thread is unwound by. Refers to `bytes`, those of its stack.
ThreadStack stack_of(Architecture architecture, const ThreadRegisters& thread,
                     std::span<const std::byte> bytes);

/// What the JIT's code had in registers when it called native code (jit/x86/beam_asm.hpp, OTP 24 to
/// 29; jit/arm/beam_asm.hpp, OTP 25 to 29).
struct JitCaller {
    Address returns_to = 0;
    Address process = 0;
    /// The Erlang stack's top, in calls that do not save it; of OTP 24 it is in another register:
    /// in which one, the code behind the call says (beam::saved_stack()).
    Address stack_top = 0, stack_top_of_24 = 0;
    Address heap_top = 0;  ///< 0: not known
    std::optional<std::uint64_t> reductions_left{};
};

/// Native frames of a thread.
struct NativeStack {
    std::vector<Address> places{};      ///< the innermost first
    std::optional<Address> leads_to{};  ///< the place in the JIT's code that the frames lead to
    std::optional<JitCaller> caller{};  ///< if that is so and its registers are known
    bool whole = false;                 ///< they lead there, or to where the thread began
};

struct NamedFunction {
    std::string name;
    Address begin = 0;
};

/// What is known of a native code address.
struct NativePlace {
    std::string file{};      ///< as the node has it mapped; empty: it is in none
    std::string build_id{};  ///< lower case hex; empty: it has none, or is not here
    Address file_begin = 0;  ///< where the file's first byte is mapped
    std::string symbol{};    ///< of the function; empty: not known
    Address symbol_begin = 0;
};

/// Unwinds native code of a node by what its files say (.eh_frame), and names it by their symbols,
/// also from debug files by build id where they are installed. Files are opened through the node's
/// own root; no network is asked for any.
class NativeFrames {
  public:
    /// Opens the files that the node has mapped. Non-owning. kUnsupported: libdw refuses them.
    static Result<NativeFrames> open(target::Target& target);

    /// By the thread's registers and stack bytes alone. `is_jit`: whether an address is in the
    /// JIT's code. Frames end where no file says how they go on, or the bytes end.
    NativeStack unwind(const ThreadStack& thread, const std::function<bool(Address)>& is_jit);

    /// Functions that `wanted` accepts the names of, at most `most`: name and first instruction, in
    /// order of these; one function of several names is there once. Of files without symbols none
    /// are known.
    std::vector<NamedFunction> functions(const std::function<bool(const std::string&)>& wanted,
                                         std::size_t most);

    /// "enif_make_int"; "beam.smp+0x1234" where the file has no name for the function, with where
    /// the function begins; "[vdso]". Nothing outside of all files.
    std::optional<std::string> name_at(Address address);

    /// The variable that an address is in: "erts_port_common_rwmtx", "planted+0x10"; where its file
    /// has no name for it, "beam.smp+0x1234", from the file's first byte on. Nothing outside of all
    /// files.
    std::optional<std::string> variable_at(Address address);

    NativePlace place_at(Address address);

  private:
    struct Session;
    struct SessionDeleter {
        void operator()(Session* session) const;
    };
    explicit NativeFrames(std::unique_ptr<Session, SessionDeleter> session);
    std::optional<std::string> find_name(Address address);

    std::unique_ptr<Session, SessionDeleter> session_;
    std::unordered_map<Address, std::optional<std::string>> names_;
};

}  // namespace beamdump::target
