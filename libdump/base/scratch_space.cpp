#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/base/system/file_calls.h>
#include <libdump/base/system/mapped_memory.h>
#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace beamdump {

namespace {

constexpr std::uint64_t kStepBytes = 64U << 10U;  // a multiple of every page size
constexpr std::uint64_t kMaxAtOnce = 256U << 20U;

constexpr std::uint64_t in_steps(std::uint64_t bytes) {
    return (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
}

/// More than asked for, so that growing word by word costs little.
std::uint64_t with_reserve(std::uint64_t held, std::uint64_t wanted) {
    return in_steps(std::max(wanted, held + std::min(held / 4, kMaxAtOnce)));
}

Result<std::byte*> mapped(void* address, std::uint64_t bytes) {
    if (address == MAP_FAILED) {
        return fail(ErrorCode::kLimit, fmt::format("no address space for {} bytes: {}", bytes,
                                                   system_error_text(errno)));
    }
    return static_cast<std::byte*>(address);
}

}  // namespace

ScratchSpace::ScratchSpace(Options options)
    : max_memory_bytes_(options.max_memory_bytes),
      max_file_bytes_(options.max_file_bytes),
      directory_(std::move(options.directory)) {
    if (directory_.empty()) {
        directory_ = temporary_directory();
    }
}

bool ScratchSpace::take_memory(std::uint64_t bytes) {
    if (bytes > max_memory_bytes_ - memory_bytes_) {
        return false;
    }
    memory_bytes_ += bytes;
    return true;
}

Result<Descriptor> ScratchSpace::open_file() const {
    Descriptor file(system::open_unnamed(directory_));
    if (!file.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot create a temporary file in {}: {}; set TMPDIR to another "
                                "directory, or raise --max-memory",
                                directory_.string(), system_error_text(errno)));
    }
    return file;
}

ScratchBlock::ScratchBlock(ScratchBlock&& other) noexcept
    : space_(other.space_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      file_(std::move(other.file_)) {}

ScratchBlock& ScratchBlock::operator=(ScratchBlock&& other) noexcept {
    if (this != &other) {
        release();
        space_ = other.space_;
        data_ = std::exchange(other.data_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
        file_ = std::move(other.file_);
    }
    return *this;
}

void ScratchBlock::release() {
    if (data_ != nullptr) {
        ::munmap(data_, bytes_);
    }
    if (space_ != nullptr) {
        (in_file() ? space_->file_bytes_ : space_->memory_bytes_) -= bytes_;
    }
    data_ = nullptr;
    bytes_ = 0;
    file_.close();
}

Result<void> ScratchBlock::enlarge(std::uint64_t bytes) {
    const std::uint64_t wanted = with_reserve(bytes_, bytes);
    if (in_file()) {
        return grow_in_file(wanted);
    }
    ASSIGN_OR_RETURN(bool grown, grow_in_memory(wanted));
    if (!grown) {
        ASSIGN_OR_RETURN(grown, grow_in_memory(in_steps(bytes)));
    }
    return grown ? Result<void>() : move_to_file(wanted);
}

Result<bool> ScratchBlock::grow_in_memory(std::uint64_t bytes) {
    if (space_ != nullptr && !space_->take_memory(bytes - bytes_)) {
        return false;
    }
    void* const grown = data_ == nullptr ? system::map_memory(bytes)
                                         : system::enlarge_mapping(data_, bytes_, bytes, -1);
    if (grown == MAP_FAILED && space_ != nullptr) {
        space_->memory_bytes_ -= bytes - bytes_;
    }
    ASSIGN_OR_RETURN(data_, mapped(grown, bytes));
    bytes_ = bytes;
    return true;
}

Result<void> ScratchBlock::reserve(const Descriptor& file, std::uint64_t bytes) const {
    const std::uint64_t others = space_->file_bytes() - (in_file() ? bytes_ : 0);
    if (bytes > space_->max_file_bytes_ - std::min(others, space_->max_file_bytes_)) {
        return fail(
            ErrorCode::kLimit,
            fmt::format("tables need more than {} bytes of temporary files in {}, which is the "
                        "limit; raise it with --max-temporary, or raise --max-memory",
                        space_->max_file_bytes_, space_->directory().string()));
    }
    if (const int refused = system::make_room(file.get(), bytes); refused != 0) {
        return fail(
            ErrorCode::kNoSpace,
            fmt::format("the temporary directory {} has no room for {} bytes, after {} there: {}; "
                        "set TMPDIR to another directory, or raise --max-memory",
                        space_->directory().string(), bytes, space_->file_bytes(),
                        system_error_text(refused)));
    }
    return {};
}

Result<void> ScratchBlock::move_to_file(std::uint64_t bytes) {
    ASSIGN_OR_RETURN(auto file, space_->open_file());
    RETURN_IF_ERROR(reserve(file, bytes));
    ASSIGN_OR_RETURN(
        std::byte* const moved,
        mapped(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), bytes));
    if (data_ != nullptr) {
        std::memcpy(moved, data_, bytes_);
    }
    release();
    data_ = moved;
    bytes_ = bytes;
    file_ = std::move(file);
    space_->file_bytes_ += bytes;
    return {};
}

Result<void> ScratchBlock::grow_in_file(std::uint64_t bytes) {
    RETURN_IF_ERROR(reserve(file_, bytes));
    ASSIGN_OR_RETURN(data_,
                     mapped(system::enlarge_mapping(data_, bytes_, bytes, file_.get()), bytes));
    space_->file_bytes_ += bytes - bytes_;
    bytes_ = bytes;
    return {};
}

}  // namespace beamdump
