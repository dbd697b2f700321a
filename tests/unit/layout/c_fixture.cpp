#include "c_fixture.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace beamdump::layout {

CFixture::CFixture() {
    auto name = (std::filesystem::temp_directory_path() / "beamdump-layout.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("no temporary directory");
    }
    directory_ = name;
}

CFixture::~CFixture() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::string CFixture::path(std::string_view name) const {
    return (directory_ / name).string();
}

std::string CFixture::file(std::string_view name, std::string_view text) {
    const auto result = path(name);
    std::ofstream(result) << text;
    return result;
}

std::string CFixture::library(std::initializer_list<std::string_view> sources,
                              std::string_view flags) {
    const auto number = ++number_;
    const auto result = path(fmt::format("lib{}.so", number));
    auto arguments = fmt::format("-shared -fPIC {} -o {}", flags, result);
    for (const auto source : sources) {
        arguments += ' ' + file(fmt::format("{}-{}.c", number, arguments.size()), source);
    }
    compile(arguments);
    return result;
}

std::string CFixture::object(std::string_view source, std::string_view flags) {
    const auto number = ++number_;
    const auto result = path(fmt::format("{}.o", number));
    compile(
        fmt::format("-c {} -o {} {}", flags, result, file(fmt::format("{}.c", number), source)));
    return result;
}

void CFixture::compile(std::string_view arguments) {
    const auto command = fmt::format("{} {}", BEAMDUMP_C_COMPILER, arguments);
    if (std::system(command.c_str()) != 0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
        throw std::runtime_error("failed: " + command);
    }
}

}  // namespace beamdump::layout
