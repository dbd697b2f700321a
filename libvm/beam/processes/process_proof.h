#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/memory/merged_reads.h>

#include <records.pb.h>

#include <span>
#include <vector>

namespace beamdump::beam {

/// A copy of a process's structure, and of its lock and state words, read after it.
struct ProcessReading {
    std::vector<std::byte> structure;
    std::uint64_t lock = 0;
    std::uint64_t state = 0;
    bool here = false;  ///< it could be read
};

/// Decides whether a process changed between two readings of its structure; if not, what was copied
/// between them is consistent. docs/capture.md gives the reasons for these fields (erl_process.c,
/// erl_message.c and erl_proc_sig_queue.c of OTP 25).
class ProcessProof {
  public:
    /// Fields of Process of which each changes when a term of the process moves or is replaced.
    /// Fails if the layout lacks one.
    static Result<std::vector<Field>> watched_fields(const Layout& layout);

    /// Non-owning. `source` must not be cached.
    static Result<ProcessProof> open(const Layout& layout, memory::MemorySource& source);
    /// A proof with other fields, to test what a missing one lets through.
    static Result<ProcessProof> open(const Layout& layout, memory::MemorySource& source,
                                     std::vector<Field> watched);

    /// False if it cannot be read.
    Result<bool> read(Address process, ProcessReading& into);
    /// Many with few calls; `into` has one for each process.
    Result<void> read(std::span<const Address> processes, std::span<ProcessReading> into) {
        return read(*source_, processes, into);
    }
    /// Reads from another source of the same memory, not cached either.
    Result<void> read(memory::MemorySource& source, std::span<const Address> processes,
                      std::span<ProcessReading> into);

    /// Why a copy that begins after this reading cannot be consistent; NONE if it can.
    [[nodiscard]] records::VoidReason busy(const ProcessReading& reading) const;

    /// NONE if nothing copied between the readings has changed.
    [[nodiscard]] records::VoidReason changed(const ProcessReading& before,
                                              const ProcessReading& after) const;

  private:
    explicit ProcessProof(memory::MemorySource& source) : source_(&source) {}
    memory::MemorySource* source_;
    std::uint32_t bytes_ = 0;
    Field state_{}, lock_{};
    std::vector<Field> fields_;
    std::vector<memory::BatchRead> reads_;  // reused
    memory::MergedReads merged_;
    std::uint64_t free_ = 0, exiting_ = 0, gc_ = 0, running_ = 0, lock_main_ = 0;
};

}  // namespace beamdump::beam
