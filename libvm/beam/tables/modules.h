#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <optional>
#include <unordered_map>
#include <vector>

namespace beamdump::beam {

/// One instance of a loaded module: its code range and the address of its header.
struct ModuleCode {
    std::uint32_t name_atom = 0;
    records::ModuleInstance instance = records::MODULE_INSTANCE_UNKNOWN;
    Address header = 0;  ///< BeamCodeHeader; also where the code range starts
    std::uint64_t bytes = 0;
    std::uint32_t first_catch = 0;
    std::uint32_t entry = 0;  ///< of the module table: the same for each code index
    /// Breakpoints in its functions, and its exports whose calls are traced (beam_bp.c);
    /// nullopt: the layout lacks them.
    std::optional<std::uint32_t> breakpoints, traced_exports;
    [[nodiscard]] Address end() const { return header + bytes; }
};

/// Reads the module table of the active code index (module.c): current and old instances, and an
/// instance whose on_load function has not finished. If another index becomes active meanwhile, the
/// table is read again, a few times.
Result<std::vector<ModuleCode>> read_modules(Vm& vm);

/// The code index that is active now, if the module table has the instance for it now: then what
/// was read of the instance, while this index was active, was not being loaded or purged. Not
/// cached.
std::optional<std::uint32_t> loaded_now(Vm& vm, const ModuleCode& code);

/// Module, function and arity from an ErtsCodeMFA.
struct CodeMfa {
    std::uint32_t module_atom = 0;
    std::uint32_t function_atom = 0;
    std::uint32_t arity = 0;
    Address start = 0;  ///< of the function's code, its ErtsCodeInfo; 0: found otherwise
    Address end = 0;    ///< where the next function, or what follows the last one, begins
};

/// Reads one module's header, functions and line table (beam_code.h).
class ModuleReader {
  public:
    static Result<ModuleReader> open(Vm& vm);

    /// Everything but the functions and lines.
    Result<records::Module> module(const ModuleCode& code);
    /// Functions first .. first+most-1.
    Result<records::Functions> functions(const ModuleCode& code, std::uint32_t first,
                                         std::uint32_t most);
    Result<records::Lines> lines(const ModuleCode& code, std::uint32_t first, std::uint32_t most);

    /// The addresses in a module's header.
    struct HeaderParts {
        bool md5 = false;
        bool lines = false;
        bool literals = false;
    };
    /// kImplausible if the header points to something that is not the module's.
    Result<HeaderParts> check_header(const ModuleCode& code);

    /// The function at a code address inside this module, if any.
    Result<std::optional<CodeMfa>> function_at(const ModuleCode& code, Address pc);

    /// Where the last function ends. From there on the module has jumps to shared code, for all of
    /// its functions: from OTP 27 on (jit/x86/beam_asm_module.cpp, emit_int_code_end()).
    Result<Address> functions_end(const ModuleCode& code);

    /// An ErtsCodeMFA; kImplausible unless it is two atoms and an arity.
    Result<CodeMfa> mfa_at(Address address);

  private:
    ModuleReader(Vm& vm, AtomWords atoms, LayoutNames& names)
        : vm_(&vm), atoms_(atoms), header_(names), area_(names), mfa_(names) {}
    Result<std::uint32_t> function_count(const ModuleCode& code);
    void add_attributes(const ModuleCode& code, const OwnedStruct& header, records::Module& module);
    struct LineTable {
        Address start = 0;  // first of the line addresses
        std::uint32_t count = 0;
        Address locations = 0;
        std::uint32_t location_bytes = 0;
        Address file_names = 0;
    };
    Result<std::optional<LineTable>> line_table(const ModuleCode& code);

    Vm* vm_;
    AtomWords atoms_;
    CodeHeaderFields header_;
    std::optional<CodeAttributeFields> attributes_;  ///< where the layout has them
    LiteralAreaFields area_;
    MfaFields mfa_;
    Field fname_, loc_size_, loc_tab_, func_tab_, info_mfa_;
    std::uint32_t line_bytes_ = 0;
    std::uint64_t nil_ = 0;
};

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
