#pragma once

#include <cerrno>
#include <functional>
#include <signal.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::test {

/// A forked child that runs `body` and then waits to be killed. Killed and reaped with its owner.
class ChildProcess {
  public:
    explicit ChildProcess(const std::function<void()>& body) {
        int ready[2] = {-1, -1};
        if (::pipe(ready) != 0) {
            throw std::runtime_error("pipe failed");
        }
        pid_ = ::fork();
        if (pid_ < 0) {
            throw std::runtime_error("fork failed");
        }
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            body();
            [[maybe_unused]] const auto told = ::write(ready[1], "r", 1);
            for (;;) {
                ::pause();
            }
        }
        ::close(ready[1]);
        char got = 0;
        const auto count = ::read(ready[0], &got, 1);
        ::close(ready[0]);
        if (count != 1) {
            kill();
            throw std::runtime_error("the child died before it was ready");
        }
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess() { kill(); }

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Kills and reaps it.
    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
            pid_ = -1;
        }
    }

  private:
    pid_t pid_ = -1;
};

/// Memory that this process and its later children have at the same address.
class SharedAddress {
  public:
    SharedAddress(std::size_t pages, int protection, int flags = MAP_PRIVATE)
        : bytes_(pages * 4096),
          data_(::mmap(nullptr, bytes_, protection, flags | MAP_ANONYMOUS, -1, 0)) {
        if (data_ == MAP_FAILED) {
            throw std::runtime_error("mmap failed");
        }
        // Huge pages would make more present than what was touched.
        ::madvise(data_, bytes_, MADV_NOHUGEPAGE);
    }
    SharedAddress(const SharedAddress&) = delete;
    SharedAddress& operator=(const SharedAddress&) = delete;
    ~SharedAddress() { ::munmap(data_, bytes_); }

    [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(data_); }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }

  private:
    std::size_t bytes_;
    void* data_;
};

}  // namespace beamdump::test
