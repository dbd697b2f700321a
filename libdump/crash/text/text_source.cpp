#include <libdump/base/return_if_error.h>
#include <libdump/base/system/file_calls.h>
#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>
#include <libdump/crash/text/decryption.h>
#include <libdump/crash/text/text_source.h>

#include <boost/iostreams/concepts.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace beamdump::crash {
namespace {

namespace io = boost::iostreams;
using namespace std::string_view_literals;

enum class Packing : std::uint8_t { kNone, kGzip, kXz, kZstd };
constexpr std::size_t kMagicBytes = 6;

Packing packing_of(std::string_view start) {
    if (start.starts_with("\x1f\x8b"sv)) {
        return Packing::kGzip;
    }
    if (start.starts_with("\xfd"
                          "7zXZ\0"sv)) {
        return Packing::kXz;
    }
    return start.starts_with("\x28\xb5\x2f\xfd"sv) ? Packing::kZstd : Packing::kNone;
}

/// A descriptor's bytes as Boost.Iostreams reads them, after those that were looked at already.
/// A device of Boost.Iostreams can report an error only by throwing; unpack() catches it.
class DescriptorDevice : public io::source {
  public:
    DescriptorDevice(int descriptor, std::string start)
        : descriptor_(descriptor), start_(std::move(start)) {}

    std::streamsize read(char* into, std::streamsize count) {
        if (!start_.empty()) {
            const auto part = std::min<std::size_t>(start_.size(), static_cast<std::size_t>(count));
            start_.copy(into, part);
            start_.erase(0, part);
            return static_cast<std::streamsize>(part);
        }
        ssize_t got = 0;
        do {
            got = ::read(descriptor_, into, static_cast<std::size_t>(count));
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            throw std::ios_base::failure(system_error_text(errno));
        }
        return got == 0 ? -1 : got;
    }

  private:
    int descriptor_;
    std::string start_;
};

std::string first_bytes(int descriptor) {
    std::array<char, kMagicBytes> bytes{};
    std::size_t held = 0;
    while (held < bytes.size()) {
        const auto got = ::read(descriptor, bytes.data() + held, bytes.size() - held);
        if (got > 0) {
            held += static_cast<std::size_t>(got);
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    return {bytes.data(), held};
}

struct Unpacked {
    TemporaryFile file;
    std::string broken;
};

/// Where the text goes that comes out of a decompressor: decrypted, if it is encrypted.
class UnpackedText {
  public:
    UnpackedText(TemporaryFile& file, const std::string& name, const TextOptions& options)
        : file_(file), name_(name), options_(options) {}

    Result<void> add(std::span<const char> piece) {
        if (!front_is_known_) {
            front_is_known_ = true;
            if (std::string_view(piece.data(), piece.size()).starts_with(kEncryptedMagic)) {
                ASSIGN_OR_RETURN(decryption_, decryption());
            }
        }
        if (!decryption_) {
            return append(piece);
        }
        text_.clear();
        RETURN_IF_ERROR(decryption_->add(piece, text_));
        return append(text_);
    }
    /// Why the text is not whole; empty if it is.
    Result<std::string> finish() {
        if (!decryption_) {
            return std::string();
        }
        text_.clear();
        auto broken = decryption_->finish(text_);
        RETURN_IF_ERROR(append(text_));
        return broken;
    }

  private:
    Result<std::optional<Decryption>> decryption() {
        if (options_.key.empty()) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("{} is an encrypted crash dump: give the private key with "
                                    "--key FILE",
                                    name_));
        }
        return Decryption::open(options_.key, name_);
    }
    Result<void> append(std::span<const char> text) {
        auto done = options_.budget == nullptr ? Result<void>()
                                               : options_.budget->take_temporary(text.size());
        if (done) {
            done = file_.append(std::as_bytes(text));
        }
        return done ? done : wrap("unpacking " + name_, done.error());
    }

    TemporaryFile& file_;
    const std::string& name_;
    const TextOptions& options_;
    bool front_is_known_ = false;
    std::optional<Decryption> decryption_;
    std::string text_;
};

Result<Unpacked> unpack(int descriptor, Packing packing, std::string start, const std::string& name,
                        const TextOptions& options) {
    ASSIGN_OR_RETURN(auto file, TemporaryFile::create());
    Unpacked result{std::move(file), {}};
    UnpackedText text(result.file, name, options);
    std::vector<char> piece(1U << 20U);
    try {
        io::filtering_istream stream;
        if (packing == Packing::kGzip) {
            stream.push(io::gzip_decompressor());
        } else if (packing == Packing::kXz) {
            stream.push(io::lzma_decompressor());
        } else if (packing == Packing::kZstd) {
            stream.push(io::zstd_decompressor());
        }
        stream.push(DescriptorDevice(descriptor, std::move(start)));
        // Piece by piece as it is unpacked: nothing that comes before a break is lost.
        auto& unpacked = *stream.rdbuf();
        auto there = static_cast<std::streamsize>(kMagicBytes);
        while (unpacked.sgetc() != std::char_traits<char>::eof()) {
            const auto got = static_cast<std::size_t>(unpacked.sgetn(piece.data(), there));
            RETURN_IF_ERROR(text.add(std::span(piece).first(got)));
            there = std::clamp<std::streamsize>(unpacked.in_avail(), 1,
                                                static_cast<std::streamsize>(piece.size()));
        }
    } catch (const std::exception& error) {
        // The device fails, or a decompressor finds its input damaged.
        result.broken = error.what();
    }
    ASSIGN_OR_RETURN(const auto cut_off, text.finish());
    result.broken = result.broken.empty() ? cut_off : result.broken;
    return result;
}

}  // namespace

Result<TextSource> TextSource::open(const std::filesystem::path& path, const TextOptions& options) {
    std::string name = path.string();
    Descriptor file(name == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
        return std::unexpected(cannot_open(name));
    }
    if (S_ISDIR(status.st_mode)) {
        return fail(ErrorCode::kNotADump, fmt::format("{} is a directory", name));
    }
    auto start = first_bytes(file.get());
    const auto packing = packing_of(start);
    if (packing == Packing::kNone && S_ISREG(status.st_mode) &&
        !start.starts_with(kEncryptedMagic)) {
        return TextSource(std::move(name), std::move(file),
                          static_cast<std::uint64_t>(status.st_size), options);
    }
    ASSIGN_OR_RETURN(auto unpacked, unpack(file.get(), packing, std::move(start), name, options));
    const auto bytes = unpacked.file.size();
    if (bytes == 0 && !unpacked.broken.empty()) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("cannot unpack {}: {}", name, unpacked.broken));
    }
    TextSource text(std::move(name), std::move(unpacked.file).take(), bytes, options);
    text.unpacked_ = true;
    text.broken_ = std::move(unpacked.broken);
    return text;
}

std::optional<TextSource::Identity> TextSource::identity() const {
    struct stat status{};
    if (unpacked_ || ::fstat(file_.get(), &status) != 0) {
        return std::nullopt;
    }
    const auto times = system::file_times(status);
    return Identity{static_cast<std::uint64_t>(status.st_dev), status.st_ino,
                    static_cast<std::uint64_t>(status.st_size), times.modified_ns,
                    times.changed_ns};
}

Result<std::size_t> TextSource::read(std::uint64_t offset, std::span<char> into) const {
    RETURN_IF_ERROR(check_stop(stop_));
    std::size_t done = 0;
    while (done < into.size()) {
        const auto count = ::pread(file_.get(), into.data() + done, into.size() - done,
                                   static_cast<off_t>(offset + done));
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (count == 0) {
            break;
        } else if (errno != EINTR) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot read {} bytes at byte {} of {}: {}", into.size(),
                                    offset, name_, system_error_text(errno)));
        }
    }
    std::atomic_ref(bytes_read_).fetch_add(done, std::memory_order_relaxed);
    return done;
}

}  // namespace beamdump::crash
