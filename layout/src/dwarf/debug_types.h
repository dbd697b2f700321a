#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <elfutils/libdw.h>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::layout {

/// The named types in the DWARF of a program built with -g. Types inside functions, classes and
/// namespaces are ignored, since the runtime's are elsewhere.
class DebugTypes {
  public:
    /// A program or shared library; an object file (.o) is refused, since its DWARF is not linked.
    static Result<DebugTypes> open(const std::string& path);

    /// Every complete definition of "struct NAME", "union NAME", or of a typedef NAME: one for each
    /// translation unit that has it. May be empty.
    [[nodiscard]] std::vector<Dwarf_Die> definitions(std::string_view name) const;

    [[nodiscard]] std::uint64_t word_bytes() const { return word_bytes_; }
    /// "x86-64", "aarch64", or the number of the ELF machine.
    [[nodiscard]] const std::string& machine() const { return machine_; }
    /// The first unit's compiler: "GNU C17 12.2.0".
    [[nodiscard]] const std::string& compiler() const { return compiler_; }

  private:
    struct End {
        void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
    };

    Result<void> read_header(const std::string& path);
    void read_unit(Dwarf_Die unit);
    void add(const std::string& name, const Dwarf_Die& die);

    Descriptor file_;
    std::unique_ptr<Dwarf, End> dwarf_;
    std::map<std::string, std::vector<Dwarf_Die>, std::less<>> types_;
    std::uint64_t word_bytes_ = 8;
    std::string machine_;
    std::string compiler_;
};

/// A type without typedefs and qualifiers.
Dwarf_Die underlying_type(Dwarf_Die type);

}  // namespace beamdump::layout
