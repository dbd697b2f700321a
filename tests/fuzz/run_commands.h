#pragma once

#include "cli/run.h"

#include <filesystem>
#include <string>
#include <vector>

namespace beamdump::test {

/// A reader that goes away after some text: a term may be printed without end where pointers make a
/// circle of what is no list.
class ShortOutput final : public render::Output {
  public:
    [[nodiscard]] const std::string& text() const { return text_; }

  protected:
    Result<void> put(std::string_view text) override {
        constexpr std::size_t kMaxText = 256U << 10U;
        text_ += text;
        return text_.size() < kMaxText ? Result<void>()
                                       : fail(ErrorCode::kClosedPipe, "the reader is gone");
    }

  private:
    std::string text_;
};

/// The program, as a function: every command that asks a dump, about the node and about the process
/// that `processes` lists first.
inline void run_commands(const std::filesystem::path& dump) {
    const std::string path = dump.string();
    const auto run = [](const std::vector<std::string>& arguments) {
        ShortOutput out;
        ShortOutput err;
        cli::run(arguments, out, err);
        return out.text();
    };
    const std::string listed = run({"processes", path});
    const auto begin = listed.find('<');
    const auto end = listed.find('>', begin);
    const std::string pid =
        end == std::string::npos ? "<0.1.0>" : listed.substr(begin, end - begin + 1);
    run({"summary", path});
    run({"summary", path, "--json"});
    run({"summary", path, "--findings", "full"});
    run({"processes", path, "--sort", "name", "--json"});
    run({"processes", path, "--sort", "binaries", "--columns", "heap"});
    run({"processes", path, "--sort", "ets"});
    run({"process", path, pid});
    run({"process", path, pid, "--json", "--sensitive"});
    run({"messages", path, pid, "--json"});
    run({"messages", path, pid, "--by", "sender"});
    run({"search", path, "{_, _}", "--limit", "3"});
    run({"refs", path, pid});
    run({"dictionary", path, pid});
    run({"backtrace", path, pid});
    run({"backtrace", path, pid, "--lines", "--json"});
    run({"heap", path, pid, "--terms", "--retained"});
    run({"sections", path});
    run({"memory", path});
    run({"allocators", path, "--carriers"});
    run({"allocators", path, "--carriers", "--sort", "free", "--json"});
    run({"profile", path});
    run({"profile", path, "--by", "process", "--json"});
    run({"history", path, "--limit", "0"});
    run({"history", path, "--json"});
    run({"history", path, "--ndjson"});
    run({"sql", path, "SELECT * FROM processes p, messages(p.pid) m, ets_tables LIMIT 100"});
    run({"diff", path, path});
    run({"crash-dump", path});
    run({"report", path, "--sensitive"});
    run({"report", path, path});
    run({"export", "ndjson", path, "--sensitive"});
    run({"export", "json", path, "--detail", "stacks"});
    for (const char* format : {"folded", "speedscope", "pprof", "dot"}) {
        run({"export", format, path});
    }
}

}  // namespace beamdump::test
