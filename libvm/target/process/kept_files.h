#pragma once

#include <libdump/base/descriptor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace beamdump::target {

/// A small file such as those of /proc and of cgroups as a whole; nothing where it cannot be read.
/// No stream: this is called before the C++ library's streams are initialised, too.
std::optional<std::string> read_text(const std::filesystem::path& file);

/// Reads small files again and again: each is opened once and stays open. A file of /proc/PID stays
/// that process's, even if its number is used again.
class KeptFiles {
  public:
    /// As read_text(). A file that is not there is looked for each time.
    std::optional<std::string> read(const std::filesystem::path& file);
    /// How often a file was opened, or looked for in vain.
    [[nodiscard]] std::uint64_t opened() const { return opened_; }

  private:
    std::map<std::string, Descriptor> files_;
    std::uint64_t opened_ = 0;
};

}  // namespace beamdump::target
