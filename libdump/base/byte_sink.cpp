#include <libdump/base/byte_sink.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system/file_calls.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace beamdump {

namespace {

/// Read and write for the owner only: a dump has the node's data.
constexpr mode_t kOwnerOnly = 0600;

Error error_about(const std::string& doing, const std::string& path, int error_number) {
    const ErrorCode code = is_no_space(error_number) ? ErrorCode::kNoSpace
                           : error_number == EACCES || error_number == EPERM
                               ? ErrorCode::kPermission
                               : ErrorCode::kIo;
    return {code, fmt::format("cannot {} {}: {}", doing, path, system_error_text(error_number))};
}

Error exists_error(const std::string& path) {
    return {ErrorCode::kExists,
            fmt::format("{} exists; give another name, or --force to replace it", path)};
}

std::string partial_of(const std::string& name) {
    return name + ".partial";
}

/// With a slash at its end: what is no directory is then an error.
std::filesystem::path directory_of(const std::filesystem::path& path) {
    const auto directory = path.parent_path();
    return (directory.empty() ? std::filesystem::path(".") : directory) / "";
}

class FileSink final : public ByteSink {
  public:
    FileSink(std::string path, std::string partial, FileSinkOptions options, Descriptor file)
        : path_(std::move(path)),
          partial_(std::move(partial)),
          options_(options),
          file_(std::move(file)) {}
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;
    ~FileSink() override {
        if (!is_whole_ && options_.partial == PartialFile::kRemoved) {
            ::unlink(partial_.c_str());
        }
    }

    Result<void> write(std::span<const std::byte> bytes) override {
        const WriteOutcome outcome = write_all(file_.get(), bytes);
        written_ += outcome.written;
        if (outcome.error_number == 0) {
            drop_pages();
            return {};
        }
        return std::unexpected(failed_write(outcome.error_number));
    }

    Result<void> commit() override {
        if (::fsync(file_.get()) != 0) {
            return std::unexpected(failed_write(errno));
        }
        if (options_.pages != WrittenPages::kStay) {
            system::drop_all_written(file_.get());
        }
        is_whole_ = true;
        RETURN_IF_ERROR(rename());
        return sync_directory();
    }

  private:
    /// Best effort: what is not dropped only takes memory. Waits for the disk only for what is much
    /// older than the newest: the node may be stopped meanwhile.
    void drop_pages() {
        constexpr std::uint64_t kStartBytes = 256U << 10U;
        constexpr std::uint64_t kMostBytes = 2U << 20U;
        if (options_.pages == WrittenPages::kStay || written_ - started_ < kStartBytes) {
            return;
        }
        system::begin_writing(file_.get(), started_, written_);
        started_ = written_;
        if (written_ - dropped_ >= kMostBytes) {
            const auto until = (dropped_ + kMostBytes / 2) / page_bytes() * page_bytes();
            system::drop_written(file_.get(), dropped_, until);
            dropped_ = until;
        }
    }

    [[nodiscard]] Error failed_write(int error_number) const {
        const bool kept = options_.partial == PartialFile::kKept;
        Error error = error_about("write to", kept ? partial_ : path_, error_number);
        error.message +=
            kept ? fmt::format("; {} bytes were written and can be opened there", written_)
                 : fmt::format("; the {} bytes that were written are removed", written_);
        if (error_number == EFBIG) {
            error.message +=
                "; raise the file size limit (ulimit -f unlimited), or write to standard output "
                "(-o -)";
        } else if (is_no_space(error_number)) {
            error.message += "; free space or write to another disk";
        }
        return error;
    }

    Result<void> rename() {
        const int error_number = rename_or_error();
        if (error_number == 0) {
            return {};
        }
        if (error_number == EEXIST) {
            return fail(
                ErrorCode::kExists,
                fmt::format("{} has been created by another program; the whole dump stays in {}",
                            path_, partial_));
        }
        Error error = error_about("rename", partial_, error_number);
        error.message += fmt::format("; the whole dump stays there instead of in {}", path_);
        return std::unexpected(std::move(error));
    }

    [[nodiscard]] int rename_or_error() const {
        if (!options_.force) {
            return system::rename_to_new(partial_, path_);
        }
        return ::rename(partial_.c_str(), path_.c_str()) == 0 ? 0 : errno;
    }

    /// Makes the rename durable. Not an error if the file system cannot do so.
    Result<void> sync_directory() {
        const auto directory = directory_of(path_);
        const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (opened.valid() && ::fsync(opened.get()) != 0 && errno == EIO) {
            return std::unexpected(error_about("flush the directory of", path_, errno));
        }
        return {};
    }

    std::string path_;
    std::string partial_;
    FileSinkOptions options_;
    Descriptor file_;
    bool is_whole_ = false;
    std::uint64_t written_ = 0;
    std::uint64_t started_ = 0;  // on their way to the disk
    std::uint64_t dropped_ = 0;
};

/// Removes the partial file of an earlier capture. One that is being written is locked and stays.
Result<void> remove_leftover(const std::string& partial) {
    const auto open = [&](int access) {
        return Descriptor(::open(partial.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    };
    auto old = open(O_RDWR);
    if (!old.valid() && errno == EACCES) {
        old = open(O_RDONLY);
    }
    if (!old.valid() && errno == EACCES) {
        return fail(ErrorCode::kExists,
                    fmt::format("{} belongs to another user, who may still be writing it: give "
                                "another name, or remove it if no capture runs",
                                partial));
    }
    if (old.valid() && ::flock(old.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return fail(ErrorCode::kExists,
                    fmt::format("{} is being written by another capture: wait for it, or give "
                                "another name",
                                partial));
    }
    if (::unlink(partial.c_str()) != 0 && errno != ENOENT) {
        return std::unexpected(error_about("replace the leftover", partial, errno));
    }
    return {};
}

/// Whether what is there already may be replaced.
Result<void> check_name(const std::string& name, bool force) {
    struct stat status{};
    if (::lstat(name.c_str(), &status) == 0) {
        if (!force) {
            return std::unexpected(exists_error(name));
        }
        if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
            return fail(ErrorCode::kExists,
                        fmt::format("{} is not a regular file and will not be replaced", name));
        }
    }
    return {};
}

class DescriptorSink final : public ByteSink {
  public:
    explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        const WriteOutcome outcome = write_all(descriptor_, bytes);
        written_ += outcome.written;
        if (outcome.error_number == 0) {
            return {};
        }
        return std::unexpected(error_of(outcome.error_number));
    }

    Result<void> commit() override { return {}; }

  private:
    [[nodiscard]] Error error_of(int error_number) const {
        if (error_number == EPIPE) {
            return {
                ErrorCode::kClosedPipe,
                fmt::format("the reader of the output closed the pipe after {} bytes", written_)};
        }
        if (is_no_space(error_number)) {
            return {ErrorCode::kNoSpace,
                    fmt::format("the output accepted {} bytes and then no more ({}); free space "
                                "there or write elsewhere",
                                written_, system_error_text(error_number))};
        }
        return {ErrorCode::kIo, fmt::format("cannot write to the output after {} bytes: {}",
                                            written_, system_error_text(error_number))};
    }

    int descriptor_;
    std::uint64_t written_ = 0;
};

class BudgetedSink final : public ByteSink {
  public:
    BudgetedSink(std::unique_ptr<ByteSink> sink, Budget& budget)
        : sink_(std::move(sink)), budget_(budget) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        auto room = budget_.take_temporary(bytes.size());
        return room ? sink_->write(bytes) : room;
    }
    Result<void> commit() override { return sink_->commit(); }

  private:
    std::unique_ptr<ByteSink> sink_;
    Budget& budget_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> open_file_sink(const std::filesystem::path& path,
                                                 FileSinkOptions options) {
    const std::string name = path.string();
    const std::string partial = partial_of(name);
    RETURN_IF_ERROR(check_name(name, options.force));
    if (options.pages == WrittenPages::kDropped && system::is_in_memory(directory_of(path))) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the file system of {} is in memory, of which little is left: "
                                "write to a disk, or to standard output (-o -)",
                                name));
    }
    RETURN_IF_ERROR(remove_leftover(partial));
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Descriptor file(::open(partial.c_str(), kFlags, kOwnerOnly));
    if (!file.valid()) {
        return std::unexpected(error_about("create", partial, errno));
    }
    // The umask may have removed bits that the owner needs.
    if (::fchmod(file.get(), kOwnerOnly) != 0) {
        return std::unexpected(error_about("set the mode of", partial, errno));
    }
    ::flock(file.get(), LOCK_EX | LOCK_NB);
    return std::make_unique<FileSink>(name, partial, options, std::move(file));
}

Result<void> check_file_sink(const std::filesystem::path& path, bool force) {
    RETURN_IF_ERROR(check_name(path.string(), force));
    if (::faccessat(AT_FDCWD, directory_of(path).c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        return std::unexpected(error_about("create", partial_of(path.string()), errno));
    }
    return {};
}

std::unique_ptr<ByteSink> descriptor_sink(int descriptor) {
    return std::make_unique<DescriptorSink>(descriptor);
}

std::unique_ptr<ByteSink> budgeted_sink(std::unique_ptr<ByteSink> sink, Budget& budget) {
    return std::make_unique<BudgetedSink>(std::move(sink), budget);
}

}  // namespace beamdump
