// Says any lines to the server of the Model Context Protocol: each line that it writes must be a
// message of JSON-RPC, and no file may be written.
//
// Input: the lines.

#include "cli/mcp/dump_answers.h"
#include "support/text_output.h"

#include <mcp/session.h>

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace beamdump;

/// An empty folder to run in, and the one where files may be opened.
class EmptyFolder {
  public:
    EmptyFolder() {
        std::string name = std::filesystem::temp_directory_path() / "beamdump-mcp-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) {
            std::abort();
        }
        path_ = name;
        std::filesystem::current_path(path_);
    }
    EmptyFolder(const EmptyFolder&) = delete;
    EmptyFolder& operator=(const EmptyFolder&) = delete;
    ~EmptyFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

void check_line(std::string_view line) {
    simdjson::dom::parser parser;
    simdjson::dom::object message;
    std::string_view version;
    if (parser.parse(line.data(), line.size()).get_object().get(message) != simdjson::SUCCESS ||
        message["jsonrpc"].get_string().get(version) != simdjson::SUCCESS || version != "2.0") {
        std::abort();
    }
    const bool told = message["method"].error() == simdjson::SUCCESS;
    const bool done = message["result"].error() == simdjson::SUCCESS;
    const bool failed = message["error"].error() == simdjson::SUCCESS;
    if (int{told} + int{done} + int{failed} != 1) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const EmptyFolder kFolder;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    test::TextOutput output;
    auto answers =
        cli::DumpAnswers::make({.dumps = {BEAMDUMP_TESTDATA "/formats/1.0-sample.beamdump"},
                                .folders = {kFolder.path().string()},
                                .open = {}},
                               {});
    if (!answers) {
        std::abort();
    }
    {
        mcp::Session session(*std::move(answers), output, std::chrono::seconds(1));
        while (!rest.empty()) {
            const auto line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            session.receive(line);
        }
        while (session.busy()) {
            session.check_time();
            std::this_thread::yield();
        }
    }
    for (std::string_view text = output.text(); !text.empty();) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        check_line(line);
    }
    if (!std::filesystem::is_empty(kFolder.path())) {
        std::abort();
    }
    return 0;
}
