#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/module_table.h>

namespace beamdump::beam {

/// Module, function and arity from an ErtsCodeMFA.
struct CodeMfa {
    std::uint32_t module_atom = 0;
    std::uint32_t function_atom = 0;
    std::uint32_t arity = 0;
    Address start = 0;  ///< of the function's code, its ErtsCodeInfo; 0: found otherwise
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
};

}  // namespace beamdump::beam
