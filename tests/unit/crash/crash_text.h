#pragma once

#include "support/temporary_directory.h"

#include <libdump/crash/text/text_source.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace beamdump::crash::test {

/// A file with a text in it, gone with this object.
class TextFile {
  public:
    explicit TextFile(std::string_view text) : path_(directory_.path() / "erl_crash.dump") {
        std::ofstream(path_, std::ios::binary) << text;
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path folder() const { return directory_.path(); }
    [[nodiscard]] TextSource source() const {
        auto opened = TextSource::open(path_);
        if (!opened) {
            throw std::runtime_error(opened.error().message);
        }
        return std::move(*opened);
    }

  private:
    beamdump::test::TemporaryDirectory directory_;
    std::filesystem::path path_;
};

}  // namespace beamdump::crash::test
