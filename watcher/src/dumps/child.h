#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace beamdump::watch {

/// The program `name` beside this one, or as the shell would find it.
std::filesystem::path sibling(const std::string& name);

/// A program that this one started, whose output goes to standard error. Its destructor ends it.
class Child {
  public:
    /// kNotFound, kLimit: it cannot be started. `variables`: NAME, value, beside those of this
    /// program.
    /// `input`: what it reads as /dev/stdin; invalid: nothing.
    static Result<Child> start(const std::vector<std::string>& command,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               const Descriptor& input = {});
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    /// Its exit status once it has ended; 128 and the signal that ended it.
    std::optional<int> ended();

  private:
    explicit Child(pid_t pid) : pid_(pid) {}
    /// Asks it to end, and ends it two seconds later.
    void end();

    pid_t pid_ = 0;
};

}  // namespace beamdump::watch
