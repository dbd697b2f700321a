#pragma once

#include <libdump/crash/export/terms/external_encoder.h>
#include <libdump/crash/export/terms/node_facts.h>
#include <libdump/crash/export/terms/text_output.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_context.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace beamdump::crash {

/// Terms as a crash dump has them (erl_process_dump.c: dump_element(), heap_dump(); OTP 25.2.3,
/// 27.3.4 and 29.1.1; what is read back by crashdump_viewer.erl, parse_term() and
/// parse_heap_term()): words inline, and each object on a line of its own.
///
/// Different from the VM: a bit string that begins or ends within a byte is written in external
/// format, to be readable; a match context as the rest to match, by the address of the binary that
/// it matches; integers of more than 1024 words in hexadecimal; an atom with a line break, which
/// the format cannot hold, as an object in external format among the literals. As in the VM's text,
/// funs lose their environments.
class TermExport {
  public:
    /// All must outlive the text.
    TermExport(TextOutput& out, TermContext& context, const TagScheme& scheme,
               const NodeFacts& node);

    /// A word: an immediate term, or H and the address of its object. H0 for an invalid word or an
    /// atom that is not in the dump.
    void element(std::uint64_t word);

    /// Writes the line of an object. False if it cannot be written; nothing was written then.
    bool object(const HeapObject& object);
    /// The heap binary that a part in whole bytes, or a match context, refers to: it needs a line
    /// of its own. nullopt if it cannot be written; the part is in external format then, or has no
    /// line.
    [[nodiscard]] std::optional<std::uint64_t> original_of(const HeapObject& object);
    /// Writes the line of an atom among the literals, at an address that no object has.
    void atom_object(std::uint32_t index);
    [[nodiscard]] static bool has_line_break(std::string_view atom) {
        return atom.find_first_of("\n\r") != std::string_view::npos;
    }
    /// Whether an element referred to such an atom.
    [[nodiscard]] bool atom_objects_used() const { return atom_objects_used_; }
    /// Whether objects that it refers to need lines of their own.
    [[nodiscard]] static bool leads_on(const HeapObject& object);

    /// A term as Erlang prints it, whole.
    void printed(std::uint64_t word);
    void atom(std::uint32_t index);
    /// module:function/arity
    void function(const FunctionName& function);
    /// A code address: function and offset, or the VM's text for a shared one.
    void code(std::uint64_t address);

    /// Drops cached words: the context has changed.
    void forget();

    /// The address in the node of an address in the dump.
    [[nodiscard]] std::uint64_t node_address(std::uint64_t address) const {
        return address / node_.address_scale;
    }
    [[nodiscard]] bool of_crash_dump() const { return node_.of_crash_dump; }

    [[nodiscard]] TextOutput& out() { return out_; }
    [[nodiscard]] WordReader& words() { return reader_; }
    [[nodiscard]] const TagScheme& scheme() const { return scheme_; }
    [[nodiscard]] TermContext& context() { return context_; }
    /// Elements that had to be written as H0.
    [[nodiscard]] std::uint64_t missing() const { return missing_; }

  private:
    void atom_element(std::uint32_t index, std::string_view name);
    void begin(const HeapObject& object);
    void elements(std::uint64_t address, std::uint64_t count);
    void cell(const HeapObject& object);
    bool number(const HeapObject& object);
    bool big(const HeapObject& object);
    bool binary(const HeapObject& object);
    void part(const HeapObject& object, std::uint64_t original, const BinaryContent& content);
    bool bytes(const HeapObject& object, const BinaryContent& content);
    std::optional<std::vector<std::uint8_t>> whole_bytes_of(const BinaryContent& content);
    bool identifier(const HeapObject& object);
    bool flat_map(const HeapObject& object);
    bool hash_map(const HeapObject& object);
    bool external(const HeapObject& object);
    void external(std::span<const std::uint8_t> encoded);

    TextOutput& out_;
    TermContext& context_;
    TagScheme scheme_;
    WordReader reader_;
    TermPrinter printer_;
    ExternalEncoder encoder_;
    const NodeFacts& node_;
    std::uint64_t missing_ = 0;
    bool atom_objects_used_ = false;
};

}  // namespace beamdump::crash
