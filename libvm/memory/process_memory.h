#pragma once

#include <libdump/base/descriptor.h>
#include <libvm/memory/memory_source.h>

#include <memory>
#include <sys/types.h>
#include <sys/uio.h>
#include <vector>

namespace beamdump::memory {

/// The system call for reading another process's memory.
enum class ReadWay : std::uint8_t {
    kVmReadv,  ///< process_vm_readv; where that is forbidden or missing, as kProcMem
    kProcMem,  ///< pread on /proc/PID/mem: pins no pages, so a twin's shared ones stay shared
};

/// The memory of a live process, running or stopped. Nothing in it is changed; pages it never
/// touched are touched by reading them (see PresentPages).
class ProcessMemory final : public MemorySource {
  public:
    /// kNotFound: no such process. kPermission is found only by the first read.
    static Result<std::unique_ptr<ProcessMemory>> open(pid_t pid, ReadWay way = ReadWay::kVmReadv);

    /// kPermission in addition to what MemorySource says.
    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override;
    Result<void> read_batch(std::span<BatchRead> reads) override;
    [[nodiscard]] MemoryStats stats() const override { return stats_; }
    std::unique_ptr<MemorySource> second_source() override;

  private:
    ProcessMemory(pid_t pid, ReadWay way) : pid_(pid), way_(way) {}
    [[nodiscard]] std::unexpected<Error> read_error(Address address, std::size_t bytes,
                                                    int error) const;
    /// Takes up /proc/PID/mem after `error` of process_vm_readv, if that can help.
    bool fall_back(int error);
    Result<std::size_t> read_proc_mem(Address address, std::span<std::byte> into);
    Result<std::size_t> read_vectors(std::span<BatchRead> reads, std::size_t at_most);

    pid_t pid_;
    ReadWay way_;
    Descriptor mem_;
    int mem_error_ = 0;  // errno of opening /proc/PID/mem
    MemoryStats stats_;
    std::vector<iovec> local_;  // of the call under way; kept for the next
    std::vector<iovec> remote_;
};

}  // namespace beamdump::memory
