#pragma once

#include "query/facts/dump_facts.h"
#include "query/holders/node_sweep.h"
#include "query/holders/process_sweep.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/binary_index.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::query {

/// What holders are searched of.
struct RefTarget {
    enum class Kind : std::uint8_t {
        kPid,
        kPort,
        kReference,
        kExternal,  ///< pid, port or reference of another node
        kBinary,    ///< reference-counted, by the address of its structure
    };
    Kind kind = Kind::kPid;
    /// Pid: owner id. Port: number. Binary: address.
    std::uint64_t number = 0;
    std::string text;  ///< as Erlang prints it; a binary's address
    /// That was asked for, where it lies in a binary and is not that of its structure.
    std::optional<std::uint64_t> inside = {};
};

std::string_view target_kind_text(RefTarget::Kind kind);

/// `<0.12.0>` in any spelling, a registered name, `#Port<0.5>`, `#Ref<0.1.2.3>`, `0x7f001234` of a
/// binary. kUsage or kNotFound.
Result<RefTarget> parse_target(Dump& dump, std::string_view text);
/// An address that is not that of a binary's structure, but lies in a binary, as the address that a
/// NIF knows of its resource does: that binary. All others as they are. Reads the records of all
/// binaries for it. Memory: visit_binaries().
Result<RefTarget> resolve_target(Dump& dump, RefTarget target, const InputLimits& limits);

/// A reference-counted binary, with the beginning of what the dump has of its content.
struct BinaryBeginning {
    static constexpr std::uint64_t kMostBytes = 256;          ///< unless more is asked for
    static constexpr std::uint64_t kMostOfAll = 1ULL << 20U;  ///< that may be asked for
    std::optional<std::uint64_t> bytes;                       ///< its size
    std::optional<std::uint64_t> references;                  ///< the VM's count
    std::uint64_t captured = 0;                               ///< bytes from the first on
    std::string first;                                        ///< of these, as many as asked for
    std::optional<std::string> resource = {};  ///< a NIF resource's type, as module:name
};

/// The content of one binary, as far as the dump has it. The dump must outlive it.
class CapturedBinary {
  public:
    /// kAbsent: the dump does not have that binary.
    static Result<CapturedBinary> open(Dump& dump, std::uint64_t address);

    [[nodiscard]] Result<BinaryBeginning> beginning(std::uint64_t most) const;
    /// The bytes from `first` on without a gap, at most `most`; none of a redacted dump, as what
    /// stands there are not its bytes.
    [[nodiscard]] Result<std::string> part(std::uint64_t first, std::uint64_t most) const;

  private:
    CapturedBinary(Dump& dump, BinaryRecord record, bool redacted)
        : dump_(&dump), record_(std::move(record)), redacted_(redacted) {}

    Dump* dump_;  ///< non-owning
    BinaryRecord record_;
    bool redacted_;
};

/// The part of a binary that a term shows, in bytes.
struct BinarySlice {
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
};

struct HolderLine {
    TermOwner owner;
    TermPlace place;
    std::optional<BinarySlice> slice;  ///< of a binary
};

struct RefsOptions {
    bool sensitive = false;
    InputLimits limits;
    ReadProgress progress = {};
    /// Told each holder as it is found.
    std::function<void(const HolderLine&)> found;
};

struct RefsAnswer {
    std::uint64_t found = 0;        ///< places
    std::uint64_t processes = 0;    ///< that hold it
    std::uint64_t tables = 0;       ///< ETS tables
    std::uint64_t modules = 0;      ///< by their literals
    bool persistent_terms = false;  ///< ... or some of them
    /// Entries of off-heap lists that no root leads to, which a collection removes: of a binary.
    std::uint64_t garbage = 0;
    std::uint64_t undecoded_messages = 0;
    std::uint64_t unreadable = 0;
    ProcessesRead read;
    NodeSweepCounts node;
};

/// Searches stacks, registers, heaps, dictionaries, messages, links and monitors of all processes,
/// rows of ETS tables and literals of modules.
/// Where a process refers to an object several times, the first place; to a binary, every one.
/// Memory: ProcessSweep's.
Result<RefsAnswer> find_holders(Dump& dump, const RefTarget& target, const RefsOptions& options);

}  // namespace beamdump::query
