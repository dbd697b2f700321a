#include <libdump/base/return_if_error.h>
#include <libdump/base/system/file_calls.h>
#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>
#include <libdump/base/write_all.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace beamdump {

std::string temporary_directory() {
    const char* set = std::getenv("TMPDIR");
    return set != nullptr && *set != '\0' ? set : "/var/tmp";
}

Result<Descriptor> open_temporary_file() {
    const std::string directory = temporary_directory();
    Descriptor file(system::open_unnamed(directory));
    if (!file.valid()) {
        return fail(
            ErrorCode::kIo,
            fmt::format(
                "cannot create a temporary file in {}: {}; set TMPDIR to a writable directory",
                directory, system_error_text(errno)));
    }
    return file;
}

Result<TemporaryFile> TemporaryFile::create() {
    Descriptor memory(system::open_in_memory());
    if (memory.valid()) {
        return TemporaryFile(std::move(memory), true);
    }
    ASSIGN_OR_RETURN(auto file, open_temporary_file());
    return TemporaryFile(std::move(file), false);
}

Result<void> TemporaryFile::move_to_directory() {
    ASSIGN_OR_RETURN(auto file, open_temporary_file());
    std::vector<std::byte> held(bytes_);
    for (std::size_t done = 0; done < held.size();) {
        const auto got =
            ::pread(file_.get(), held.data() + done, held.size() - done, static_cast<off_t>(done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return fail(ErrorCode::kIo, fmt::format("cannot read temporary data back: {}",
                                                    system_error_text(got == 0 ? EIO : errno)));
        }
        done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    file_ = std::move(file);
    in_memory_ = false;
    bytes_ = 0;
    return append(held);
}

Result<void> TemporaryFile::append(std::span<const std::byte> bytes) {
    if (in_memory_ && bytes.size() > kHeldBytes - bytes_) {
        RETURN_IF_ERROR(move_to_directory());
    }
    const auto outcome = write_all(file_.get(), bytes);
    bytes_ += outcome.written;
    if (outcome.error_number == 0) {
        return {};
    }
    const bool full = is_no_space(outcome.error_number);
    return fail(
        full ? ErrorCode::kNoSpace : ErrorCode::kIo,
        fmt::format(
            "cannot write more than {} bytes to a temporary file in {}: {}; {}set TMPDIR to "
            "a directory with more room",
            bytes_, in_memory_ ? "memory" : temporary_directory(),
            system_error_text(outcome.error_number), full ? "free space there, or " : ""));
}

namespace {

class TemporarySink final : public ByteSink {
  public:
    explicit TemporarySink(TemporaryFile& file) : file_(file) {}
    Result<void> write(std::span<const std::byte> bytes) override { return file_.append(bytes); }
    Result<void> commit() override { return {}; }

  private:
    TemporaryFile& file_;
};

}  // namespace

std::unique_ptr<ByteSink> temporary_sink(TemporaryFile& file) {
    return std::make_unique<TemporarySink>(file);
}

}  // namespace beamdump
