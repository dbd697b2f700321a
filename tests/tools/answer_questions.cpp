// Answers questions as beamdump-analyze does, one after the other in one process: live tests ask
// thousands, and starting a program for each would take most of their time.
//
// A question is a line on standard input: a JSON array of beamdump-analyze's arguments. Its answer
// on standard output: a line with the exit status and how many bytes of output and of diagnostics
// follow, and these.

#include "cli/run.h"
#include "support/text_output.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace beamdump;

}  // namespace

int main() {
    std::signal(SIGPIPE, SIG_IGN);
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        rapidjson::Document question;
        question.Parse(line.data(), line.size());
        if (question.HasParseError() || !question.IsArray()) {
            std::cerr << "answer_questions: not a JSON array: " << line << '\n';
            return 2;
        }
        std::vector<std::string> words;
        for (const auto& word : question.GetArray()) {
            words.emplace_back(word.GetString(), word.GetStringLength());
        }
        test::TextOutput out;
        test::TextOutput err;
        const auto status = cli::run(words, out, err);
        out.flush();
        err.flush();
        std::cout << fmt::format("{} {} {}\n", static_cast<int>(status), out.text().size(),
                                 err.text().size())
                  << out.text() << err.text() << std::flush;
    }
    return 0;
}
