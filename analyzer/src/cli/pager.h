#pragma once

#include "render/shared/output.h"

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <atomic>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace beamdump::cli {

/// Standard output. On a terminal, what is written after allow_pager() goes to the user's pager, as
/// git has it: BEAMDUMP_PAGER, PAGER, or less where it is installed; none if that is empty or
/// "cat". The pager starts with the first text. Standard error then goes there too, if it is a
/// terminal: messages would be hidden behind it. Changes the process's descriptors and its handling
/// of SIGINT, so there can be one at a time.
class PagedOutput final : public render::Output {
  public:
    PagedOutput() = default;
    PagedOutput(const PagedOutput&) = delete;
    PagedOutput& operator=(const PagedOutput&) = delete;
    ~PagedOutput() override { end(); }

    [[nodiscard]] bool is_terminal() const override { return standard_.is_terminal(); }
    [[nodiscard]] std::optional<std::size_t> columns() const override {
        return standard_.columns();
    }
    void allow_pager() override;
    /// Ends the text and waits until the user leaves the pager. Fails if it could not be run. To be
    /// called when standard output and standard error have been flushed.
    Result<void> finish();

  protected:
    Result<void> put(std::string_view text) override;

  private:
    bool start();
    void wait_for_pager();
    void end();
    [[nodiscard]] Result<void> pager_ran() const;

    render::DescriptorOutput standard_{1, "standard output"};
    std::vector<std::string> command_;  ///< of the pager that starts with the first text
    Descriptor pipe_;                   ///< to the pager
    Descriptor errors_;                 ///< standard error while the pager has it
    pid_t pager_ = -1;
    int pager_status_ = 0;  ///< as of waitpid(), once `waiting_` has ended
    std::atomic<bool> finishing_ = false;
    std::thread waiting_;
};

}  // namespace beamdump::cli
