// Asks a dump by any text as a statement: it must end within its steps and memory, with rows or one
// sentence, and write no file.
//
// Input: the statement.

#include "sql/sql_question.h"

#include <libdump/model/dump.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

using namespace beamdump;

constexpr std::uint64_t kMostSteps = 200'000;
constexpr std::uint64_t kMostBytes = 64U << 20U;
constexpr int kMostRows = 1000;

/// An empty folder to run in, for a statement may name a file.
class Folder {
  public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "beamdump-sql-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) {
            std::abort();
        }
        path_ = name;
        std::filesystem::current_path(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(path_); }

  private:
    std::filesystem::path path_;
};

sql::Source sample() {
    const std::string file = BEAMDUMP_TESTDATA "/formats/1.0-sample.beamdump";
    static const auto kDump = Dump::open(file);
    if (!kDump) {
        std::abort();
    }
    return {kDump->get(), file, {}, false};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string statement(reinterpret_cast<const char*>(data), size);
    static const Folder kFolder;
    auto question = sql::Question::prepare(statement, {.memory = kMostBytes, .steps = kMostSteps});
    if (!question) {
        return question.error().message.empty() ? std::abort(), 0 : 0;
    }
    int rows = 0;
    const auto done =
        (*question)->run({sample()}, [&rows](const auto& /*row*/) { return ++rows < kMostRows; });
    if (!done && done.error().message.empty()) {
        std::abort();
    }
    if (!kFolder.is_empty()) {
        std::abort();
    }
    return 0;
}
