#pragma once

#include "support/fake_memory.h"

#include <libvm/beam/layout/layout.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {

using memory::Address;

/// An address that no arena has, aligned as any structure's.
inline constexpr Address kNowhere = 0x1000;

/// The tag of a word that points to a boxed object (erl_term.h).
inline constexpr std::uint64_t kBoxed = 2;

/// A range of a fake VM's memory that things are placed in one after another.
class Arena {
  public:
    Arena(FakeMemory& memory, const std::string& label, Address begin, std::size_t bytes);

    /// Zeros. Throws where the arena is full.
    Address place(std::size_t bytes, std::size_t alignment = 8);
    Address place_words(const std::vector<std::uint64_t>& words);
    /// The characters and a NUL.
    Address place_text(std::string_view text);

    [[nodiscard]] memory::AddressRange range() const { return range_; }
    /// Where the next thing will stand, but for its alignment.
    [[nodiscard]] Address next() const { return next_; }
    [[nodiscard]] FakeMemory& memory() { return memory_; }

  private:
    FakeMemory& memory_;
    memory::AddressRange range_;
    Address next_;
};

/// A structure of the runtime in a fake VM, whose fields are set by the names of the layout. A name
/// that the layout lacks is the test's mistake and throws; see set_if_any().
class FakeStruct {
  public:
    FakeStruct(FakeMemory& memory, const beam::Layout& layout, std::string name, Address address)
        : memory_(&memory), layout_(&layout), name_(std::move(name)), address_(address) {}

    FakeStruct& set(std::string_view field, std::uint64_t value);
    /// Nothing where this release has no such field.
    FakeStruct& set_if_any(std::string_view field, std::uint64_t value);
    /// A word of a field that is an array.
    FakeStruct& set_word(std::string_view field, std::size_t index, std::uint64_t value);

    [[nodiscard]] std::uint64_t get(std::string_view field) const;
    [[nodiscard]] bool has(std::string_view field) const;
    [[nodiscard]] Address address() const { return address_; }
    [[nodiscard]] Address at(std::string_view field) const;
    [[nodiscard]] std::uint32_t bytes() const;

  private:
    [[nodiscard]] beam::Field field(std::string_view name) const;

    FakeMemory* memory_;
    const beam::Layout* layout_;
    std::string name_;
    Address address_;
};

}  // namespace beamdump::test
