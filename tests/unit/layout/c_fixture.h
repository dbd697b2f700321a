#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace beamdump::layout {

/// A temporary directory with programs compiled from C.
class CFixture {
  public:
    CFixture();
    CFixture(const CFixture&) = delete;
    CFixture& operator=(const CFixture&) = delete;
    ~CFixture();

    /// Compiles `sources`, one translation unit each, into a shared library with -g; its path.
    std::string library(std::initializer_list<std::string_view> sources,
                        std::string_view flags = "-g");
    /// Compiles one source into an object file; its path.
    std::string object(std::string_view source, std::string_view flags = "");
    /// A file with that text; its path.
    std::string file(std::string_view name, std::string_view text);
    [[nodiscard]] std::string path(std::string_view name) const;

  private:
    void compile(std::string_view arguments);

    std::filesystem::path directory_;
    int number_ = 0;
};

}  // namespace beamdump::layout
