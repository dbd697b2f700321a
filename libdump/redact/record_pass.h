#pragma once

#include <libdump/format/wire.h>
#include <libdump/redact/atom_names.h>
#include <libdump/redact/field_rules.h>
#include <libdump/redact/word_pass.h>

#include <cstddef>
#include <span>

namespace beamdump::redact {

/// How the words of a region of a kind are read.
WordLayout layout_of(format::RegionKind kind);

/// Hides the values of one fact record by its message's rules, in place.
class RecordPass {
  public:
    /// Non-owning. `words`: null where the scheme of the node's terms is not known yet.
    RecordPass(AtomNames& atoms, WordPass* words) : atoms_(atoms), words_(words) {}

    /// kUnsupported if a field has no rule, kCorrupt if the bytes are no such message.
    Result<void> message(std::span<std::byte> bytes, const MessageRules& rules);

  private:
    Result<void> field(std::span<std::byte> message, const WireField& field,
                       const FieldDecision& decision, const MessageRules& rules);
    Result<void> terms(const WireField& field);
    Result<void> packed_words(std::span<std::byte> message, const WireField& field);
    Result<void> atom_text(std::span<std::byte> message, const WireField& field);
    Result<WordPass*> words();
    void argument(std::span<std::byte> text);

    AtomNames& atoms_;
    WordPass* words_;
    std::uint64_t atom_ = 0;      ///< texts of the record so far
    bool is_emulators_ = true;    ///< an argument of the emulator, not of the applications
    bool is_table_size_ = false;  ///< the next argument is the size of one of the node's tables
};

/// Each byte becomes an x.
void hide(std::span<std::byte> bytes);
/// Words of a sentence that hold a path, an address of a node or a quote become x.
void hide_names(std::span<std::byte> sentence);
/// A term in external format becomes a binary (or string, number) of as many bytes; `versioned`:
/// whether the version's byte comes first.
void hide_external(std::span<std::byte> bytes, bool versioned);

}  // namespace beamdump::redact
