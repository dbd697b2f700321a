#pragma once

#include <libdump/base/descriptor.h>
#include <libvm/memory/present_pages.h>

#include <memory>
#include <sys/types.h>

namespace beamdump::memory {

/// PresentPages of a live process, from /proc/PID/pagemap (bit 63, "page present"; Linux'
/// Documentation/admin-guide/mm/pagemap.rst). Needs no privilege beyond reading the process. A page
/// that was swapped out is not present, nor is one of a mapped file that was not touched through
/// this mapping.
class Pagemap final : public PresentPages {
  public:
    /// kNotFound: no such process. kPermission.
    static Result<std::unique_ptr<Pagemap>> open(pid_t pid);

    /// Costs 8 bytes of copying a page asked about, in blocks of fixed size, and 16 bytes of result
    /// a separate part. kLimit: the range is beyond 16 TiB. kTargetDied.
    Result<std::vector<AddressRange>> present(AddressRange range) override;

    /// The pages of a range that are guards within a mapping (MADV_GUARD_INSTALL), as glibc puts
    /// below threads' stacks from 2.42 on: bit 58, from Linux 6.15 on; kernels before tell of none.
    /// Costs and errors as present().
    Result<std::vector<AddressRange>> guards(AddressRange range);

    /// How much of a range is where, in bytes: whole pages.
    struct Use {
        std::uint64_t present = 0;
        std::uint64_t swapped = 0;  ///< bit 62
    };
    /// Costs and errors as present(), without a result of parts. The kernel looks at 2 MiB at a
    /// time, and lets the process's own calls pass in between; /proc/PID/smaps holds them up for as
    /// long as a whole mapping takes.
    Result<Use> use(AddressRange range);

  private:
    explicit Pagemap(pid_t pid) : pid_(pid) {}
    Result<std::vector<AddressRange>> with(std::uint64_t bit, AddressRange range);
    /// Calls `visit` with the number and the entry of each page of a range.
    template <typename Visit>
    Result<void> each(AddressRange range, const Visit& visit);
    [[nodiscard]] bool address_space_gone() const;

    pid_t pid_;
    Descriptor file_;
};

}  // namespace beamdump::memory
