#pragma once

#include <libvm/beam/tables/modules.h>

#include <unordered_map>

namespace beamdump::beam {

/// Looks up functions by code address, in all loaded instances. Memory: 32 bytes a module, and a
/// bounded cache (many processes wait at the same few addresses).
class CodeLookup {
  public:
    /// Reads the modules that are loaded now.
    static Result<CodeLookup> read(Vm& vm);
    static Result<CodeLookup> build(Vm& vm, std::vector<ModuleCode> modules);

    [[nodiscard]] const std::vector<ModuleCode>& modules() const { return modules_; }
    [[nodiscard]] bool in_code(Address pc) const { return module_of(pc) != nullptr; }
    /// The function at a code address; nullopt if no loaded module has it.
    std::optional<CodeMfa> function_at(Address pc);
    /// An ErtsCodeMFA inside some module's code or an export entry.
    std::optional<CodeMfa> mfa_at(Address address);

  private:
    CodeLookup(ModuleReader reader, std::vector<ModuleCode> modules)
        : reader_(reader), modules_(std::move(modules)) {}
    [[nodiscard]] const ModuleCode* module_of(Address pc) const;

    ModuleReader reader_;
    std::vector<ModuleCode> modules_;  // by start address
    std::unordered_map<Address, std::optional<CodeMfa>> known_;
};

}  // namespace beamdump::beam
