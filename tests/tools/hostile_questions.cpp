// Writes messages to the server of the Model Context Protocol that nobody should send, a line each:
//
//   hostile_questions statements|messages COUNT SEED OUTSIDE DUMP...
//
// `statements` are calls of the tool sql, `messages` any. Their ids are 0 to COUNT - 1. OUTSIDE is
// a file that none of them may touch. The same arguments give the same lines.

#include "support/hostile_messages.h"
#include "support/hostile_statements.h"

#include <mcp/message.h>

#include <fmt/format.h>

#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace beamdump;

/// A call of sql about one of the dumps, or about all of them.
std::string call_of_sql(int id, const std::string& statement,
                        const std::vector<std::string>& dumps) {
    const auto chosen = static_cast<std::size_t>(id) % (dumps.size() + 1);
    std::string names;
    for (std::size_t at = 0; at < dumps.size(); ++at) {
        if (chosen == at || chosen == dumps.size()) {
            names += (names.empty() ? "" : ",") + mcp::json_string(dumps[at]);
        }
    }
    return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"sql",)"
                       R"("arguments":{{"dumps":[{}],"statement":{}}},"_meta":{{)"
                       R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                       R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})",
                       id, names, mcp::json_string(statement));
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    if (words.size() < 6) {
        std::cerr << "hostile_questions: statements|messages COUNT SEED OUTSIDE DUMP...\n";
        return 2;
    }
    const std::string_view kind = words[1];
    const int count = std::stoi(words[2]);
    const auto seed = static_cast<unsigned>(std::stoul(words[3]));
    const std::string outside = words[4];
    const std::vector<std::string> dumps(words.begin() + 5, words.end());
    test::AnyStatements statements(outside, seed);
    test::HostileMessages messages(dumps, outside, seed);
    for (int id = 0; id < count; ++id) {
        std::cout << (kind == "statements" ? call_of_sql(id, statements.next(), dumps)
                                           : messages.message(id))
                  << '\n';
    }
    return 0;
}
