#pragma once

#include "cli/run.h"
#include "render/shared/output.h"
#include "sample_dump.h"
#include "support/temporary_directory.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::test {

/// Keeps what is written, up to a limit, after which it is a reader that has gone away.
class KeptOutput final : public render::Output {
  public:
    explicit KeptOutput(std::size_t limit = std::string::npos,
                        std::optional<std::size_t> columns = std::nullopt)
        : limit_(limit), columns_(columns) {}
    [[nodiscard]] std::optional<std::size_t> columns() const override { return columns_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::size_t largest_piece() const { return largest_; }

  protected:
    Result<void> put(std::string_view text) override {
        if (text.size() > limit_ - text_.size()) {
            return fail(ErrorCode::kClosedPipe, "the reader is gone");
        }
        largest_ = std::max(largest_, text.size());
        text_ += text;
        return {};
    }

  private:
    std::size_t limit_;
    std::optional<std::size_t> columns_;
    std::size_t largest_ = 0;
    std::string text_;
};

/// Keeps the first megabyte of what is written, and counts the rest up to a limit.
class CountedOutput final : public render::Output {
  public:
    explicit CountedOutput(std::size_t limit) : limit_(limit) {}
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::size_t taken() const { return taken_; }

  protected:
    Result<void> put(std::string_view text) override {
        constexpr std::size_t kKept = 1U << 20U;
        if (text.size() > limit_ - taken_) {
            return fail(ErrorCode::kClosedPipe, "the reader is gone");
        }
        taken_ += text.size();
        text_ += text.substr(0, kKept - std::min(kKept, text_.size()));
        return {};
    }

  private:
    std::size_t limit_;
    std::size_t taken_ = 0;
    std::string text_;
};

struct Ran {
    int status = 0;
    std::string out;
    std::string err;
};

/// The program, run as a function in a directory of its own with the sample dumps.
class Program {
  public:
    Program() {
        put("sample.beamdump", sample_dump());
        put("later.beamdump", later_sample_dump());
    }

    void put(const std::string& name, const std::vector<std::byte>& bytes) {
        std::ofstream(directory_.path() / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (directory_.path() / name).string();
    }

    /// Arguments that end in .beamdump are files of the directory; their directory is left out of
    /// the texts.
    Ran run(std::vector<std::string> arguments, std::size_t limit = std::string::npos,
            std::optional<std::size_t> columns = std::nullopt) {
        for (std::string& argument : arguments) {
            if (argument.ends_with(".beamdump")) {
                argument = path(argument);
            }
        }
        KeptOutput out(limit, columns);
        KeptOutput err;
        const auto status = cli::run(arguments, out, err);
        return {static_cast<int>(status), without_directory(out.text()),
                without_directory(err.text())};
    }

    /// Of an answer to a dump of that name: its beginning, and how much a reader takes of it that
    /// leaves after `limit` bytes.
    std::pair<std::string, std::size_t> run_counted(std::vector<std::string> arguments,
                                                    std::size_t limit) {
        arguments[1] = path(arguments[1]);
        CountedOutput out(limit);
        KeptOutput err;
        cli::run(arguments, out, err);
        return {out.text(), out.taken()};
    }

  private:
    [[nodiscard]] std::string without_directory(std::string text) const {
        const std::string prefix = directory_.path().string() + "/";
        for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
            text.erase(at, prefix.size());
        }
        return text;
    }

    TemporaryDirectory directory_;
};

}  // namespace beamdump::test
