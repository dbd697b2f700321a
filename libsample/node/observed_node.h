#pragma once

#include <libsample/node/shared_code.h>
#include <libvm/beam/locate/locate.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/vm/vm.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beamdump::sampler {

using memory::Address;

/// A running node with what samples need of it: its located VM, its code and its names. Opening it
/// and reading it stops nothing and changes nothing in it.
class ObservedNode {
  public:
    /// Locates the VM and checks its layout as a capture does. Errors as fit::locate_checked().
    static Result<std::unique_ptr<ObservedNode>> open(pid_t pid, const beam::LocateOptions& how,
                                                      const std::atomic<bool>& cancelled);

    [[nodiscard]] beam::Vm& vm() { return *vm_; }
    [[nodiscard]] beam::CodeLookup& code() { return *code_; }
    [[nodiscard]] const SharedCode& shared() const { return shared_; }
    /// The node's name: "rabbit@host".
    [[nodiscard]] const std::string& name() const { return name_; }
    /// A sentence if the layout was not made for the node's release.
    [[nodiscard]] const std::optional<std::string>& doubt() const { return doubt_; }

    /// kUnsupported of the interpreter: its functions have no machine code.
    [[nodiscard]] Result<void> check_machine_code() const;
    /// kUnsupported of OTP 24, in which code keeps the function that called a BIF in other places
    /// (jit/x86/instr_bif.cpp, emit_call_light_bif_shared()): shares of functions would be wrong.
    [[nodiscard]] Result<void> check_samples() const;

    /// Whether an address is in Erlang code or in the emulator's shared code.
    [[nodiscard]] bool in_code(Address pc) const { return code_->in_code(pc) || shared_.holds(pc); }
    /// Reads again which modules are loaded: a node loads code while it is observed.
    Result<void> refresh_code();

    /// "module:function/arity" of the function at a code address, as the VM prints it; "<name>" in
    /// shared code; nothing elsewhere.
    std::optional<std::string> place_at(Address pc);
    std::string function_text(const beam::CodeMfa& function);
    std::string function_text(const records::Mfa& function);
    /// From now on function_named() knows the functions that function_text() tells.
    void keep_functions() { functions_.emplace(); }
    /// The function that was told with this text; nothing: none was, or there were too many.
    [[nodiscard]] std::optional<beam::CodeMfa> function_named(const std::string& text) const;
    /// The text of an atom as the VM prints it; nothing if it cannot be read.
    std::optional<std::string> atom(std::uint32_t index);
    /// The text of an atom, unquoted; nothing if it cannot be read.
    std::optional<std::string> atom_name(std::uint32_t index);
    /// The index of the atom with this name, if the node has it. Reads the whole table.
    Result<std::optional<std::uint32_t>> find_atom(std::string_view name);

  private:
    explicit ObservedNode(std::unique_ptr<beam::Vm> vm) : vm_(std::move(vm)) {}

    std::unique_ptr<beam::Vm> vm_;
    std::unique_ptr<beam::CodeLookup> code_;  // other readers refer to it
    std::optional<beam::AtomReader> atoms_;
    SharedCode shared_;
    std::string name_;
    std::optional<std::string> doubt_;
    std::unordered_map<std::uint32_t, std::string> known_atoms_;
    std::optional<std::unordered_map<std::string, beam::CodeMfa>> functions_;
};

}  // namespace beamdump::sampler
