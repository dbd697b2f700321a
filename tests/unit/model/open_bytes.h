#pragma once

#include "support/dump_builder.h"
#include "support/temporary_directory.h"

#include <libdump/model/dump.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

namespace beamdump::test {

/// A dump's bytes as a file, opened. The file lives as long as this does.
class OpenedBytes {
  public:
    explicit OpenedBytes(const std::vector<std::byte>& bytes,
                         const DumpReaderOptions& options = {}) {
        std::ofstream(path(), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        dump_ = expect_value(Dump::open(path(), options));
    }

    [[nodiscard]] Dump& dump() { return *dump_; }

    [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "test.beamdump"; }

    [[nodiscard]] ProcessRun run(const char* name) {
        return expect_value(
            ProcessRun::load(dump_->reader(), expect_value(dump_->find_process(name))));
    }

  private:
    TemporaryDirectory directory_;
    std::unique_ptr<Dump> dump_;
};

/// A dump without its end: the frame of the trailer, too, is cut.
inline std::vector<std::byte> without_trailer(std::vector<std::byte> bytes) {
    constexpr std::size_t kSkippableHeader = 8;
    std::uint32_t entries = 0;
    std::memcpy(&entries, bytes.data() + bytes.size() - format::kSeekTableFooterBytes,
                sizeof(entries));
    const std::size_t seek_table =
        kSkippableHeader + entries * format::kSeekTableEntryBytes + format::kSeekTableFooterBytes;
    const std::size_t tail = kSkippableHeader + sizeof(format::Tail);
    bytes.resize(bytes.size() - seek_table - tail - 1);
    return bytes;
}

inline DumpWriterOptions small_frames() {
    DumpWriterOptions options;
    options.threads = 1;
    options.frame_bytes = 4096;
    return options;
}

}  // namespace beamdump::test
