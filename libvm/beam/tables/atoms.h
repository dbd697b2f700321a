#pragma once

#include <libvm/beam/tables/index_table.h>

#include <records.pb.h>

namespace beamdump::beam {

/// How much memory the texts of atoms take, as the VM counts it (atom.c). Up to OTP 27 they are in
/// blocks, one text behind the other; those of the VM's own atoms are in its file, and not counted.
class AtomSpace {
  public:
    /// The next atom's text, where it has a place of its own; else a binary's.
    void add(std::optional<Address> text, std::uint64_t bytes);
    /// One that was added counts with another text's bytes, which is in the dump in its place.
    void replace(std::uint64_t bytes, std::uint64_t by) { used_ = used_ - bytes + by; }

    [[nodiscard]] std::uint64_t used_bytes() const { return used_; }
    [[nodiscard]] std::uint64_t reserved_bytes() const;

  private:
    std::uint64_t used_ = 0;
    std::uint64_t blocks_ = 0;
    bool in_blocks_ = false;
    Address next_ = 0;  // behind the text before
};

/// Reads the atom table (atom.c). Atoms are only ever added, so a later read appends.
class AtomReader {
  public:
    static Result<AtomReader> open(Vm& vm);

    [[nodiscard]] std::uint32_t count() const { return table_.entries(); }

    /// Atoms from `first` on: up to `most` of them and about `text_bytes` of text. `space`, if any,
    /// is told all of them.
    Result<records::Atoms> page(std::uint32_t first, std::uint32_t most, std::size_t text_bytes,
                                AtomSpace* space = nullptr);

    Result<std::string> text(std::uint32_t index);

  private:
    AtomReader(Vm& vm, IndexTableWalker table) : vm_(&vm), table_(table) {}
    Result<std::string> text_at(Address atom, std::uint32_t index, AtomSpace* space = nullptr);
    void count(AtomSpace& space, Address text, std::uint64_t bytes) const;
    /// The address of the bytes of a text that is a term: a binary of `bytes` bytes.
    Result<Address> bytes_of(std::uint64_t term, std::uint64_t length);

    Vm* vm_;
    IndexTableWalker table_;
    Field index_;
    Field length_;
    std::optional<Field> term_;  // the text as a term, from OTP 28 on
    Field name_;
    Field bits_, data_, base_, start_, end_;
    std::uint32_t bytes_ = 0, heap_bits_bytes_ = 0, sub_bits_bytes_ = 0;
    std::uint64_t heap_bits_tag_ = 0, sub_bits_tag_ = 0;
};

/// Converts between atoms' term words (erl_term.h) and their indexes.
class AtomWords {
  public:
    static Result<AtomWords> resolve(const Layout& layout);
    [[nodiscard]] std::optional<std::uint32_t> index(std::uint64_t word) const {
        if ((word & mask_) != tag_) {
            return std::nullopt;
        }
        return static_cast<std::uint32_t>(word >> shift_);
    }
    [[nodiscard]] std::uint64_t word(std::uint32_t index) const {
        return (std::uint64_t{index} << shift_) | tag_;
    }

  private:
    std::uint64_t tag_ = 0;
    std::uint64_t mask_ = 0;
    std::uint32_t shift_ = 0;
};

}  // namespace beamdump::beam
