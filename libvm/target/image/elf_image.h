#pragma once

#include <libdump/base/architecture.h>
#include <libvm/memory/present_pages.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::target {

struct Symbol {
    memory::Address address = 0;  ///< in the target (the load bias is added)
    std::uint64_t size = 0;       ///< bytes; 0 where the table does not say
    std::string_view table;       ///< "symtab" or "dynsym"
};

/// A program header, by the file: addresses without a bias.
struct Segment {
    std::uint32_t type = 0;
    std::uint32_t flags = 0;
    std::uint64_t offset = 0;  ///< in the file
    std::uint64_t address = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t memory_bytes = 0;
    bool operator==(const Segment&) const = default;
};

/// An executable's segments and symbols, as loaded at a bias. Reads the file once; holds no
/// descriptor afterwards.
class ElfImage {
  public:
    /// `bias`: what to add to the file's addresses (0 for a fixed executable).
    static Result<ElfImage> open(const std::filesystem::path& file, std::uint64_t bias);

    /// A name that several file-static symbols share is not found.
    [[nodiscard]] std::optional<Symbol> symbol(std::string_view name) const;
    [[nodiscard]] const std::string& build_id() const { return build_id_; }  ///< lower case hex
    /// The name of the file with its symbols, where it was stripped (.gnu_debuglink); else empty.
    [[nodiscard]] const std::string& debug_link() const { return debug_link_; }
    /// Loaded segments that are writable: .data and .bss, where file-static tables live.
    [[nodiscard]] const std::vector<memory::AddressRange>& writable() const { return writable_; }
    /// Loaded segments with string constants: not writable, nor executable if one such is there.
    [[nodiscard]] const std::vector<memory::AddressRange>& read_only() const { return read_only_; }
    [[nodiscard]] const std::vector<memory::AddressRange>& executable() const {
        return executable_;
    }
    /// All program headers, in the file's order.
    [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
    [[nodiscard]] Architecture architecture() const { return architecture_; }
    /// Where the program begins to run (e_entry).
    [[nodiscard]] memory::Address entry() const { return entry_; }
    /// The first address of the image, rounded down to a page.
    [[nodiscard]] memory::Address begin() const;
    /// Adds to every address: for an image opened before its bias was known.
    void move_by(std::uint64_t bias);

  private:
    std::map<std::string, Symbol, std::less<>> symbols_;
    std::string build_id_;
    std::string debug_link_;
    Architecture architecture_ = kOwnArchitecture;
    memory::Address entry_ = 0;
    std::vector<memory::AddressRange> writable_;
    std::vector<memory::AddressRange> read_only_;
    std::vector<memory::AddressRange> executable_;
    std::vector<Segment> segments_;
};

/// The build id of an ELF file by its first bytes, as a process has them in its memory; empty where
/// they are no ELF header, or have no build id.
std::string build_id_of(std::span<const std::byte> head);

/// The program headers of an ELF file by its first bytes; none where they are no ELF header, or do
/// not have all of them.
std::vector<Segment> segments_of(std::span<const std::byte> head);

}  // namespace beamdump::target
