// Terms against the VM's own texts: oracle/make-texts says how they were made.

#include "external_term.h"
#include "oracle_lines.h"
#include "print_term.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>

namespace beamdump::testing {
namespace {

TEST(TermPrinterOracle, PrintsWhatTheVmPrints) {
    const auto lines = oracle_lines("terms.txt");
    ASSERT_GT(lines.size(), 800U);
    ASSERT_EQ(lines.size() % 2, 0U);
    FakeTermContext context;
    TermBuilder builder(context);
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        const auto word = build_external(context, builder, decode_base64(lines[i]));
        TermPrinter printer(context, otp25_scheme());
        EXPECT_EQ(print_with(printer, word, 1U << 20U), lines[i + 1]) << "line " << i + 2;
        EXPECT_EQ(printer.statistics().malformed, 0U);
        EXPECT_EQ(printer.statistics().absent, 0U);
    }
}

TEST(TermPrinterOracle, ChunksOfAnySizeGiveTheSameText) {
    const auto lines = oracle_lines("terms.txt");
    FakeTermContext context;
    TermBuilder builder(context);
    TermPrinter printer(context, otp25_scheme());
    for (std::size_t i = 0; i < lines.size(); i += 2) {
        const auto word = build_external(context, builder, decode_base64(lines[i]));
        for (const std::size_t chunk : {1U, 2U, 7U, 4095U}) {
            ASSERT_EQ(print_with(printer, word, chunk), lines[i + 1]) << "line " << i + 2;
        }
    }
}

/// Builds a large map's nodes from the VM's text of it: <bitmap>{...} and [key|value].
class NodeParser {
  public:
    NodeParser(TermBuilder& builder, std::string_view text) : builder_(builder), text_(text) {}

    std::uint64_t node() {
        if (accept('[')) {
            const auto key = TermBuilder::small(number());
            expect('|');
            const auto value = TermBuilder::small(number());
            expect(']');
            return builder_.cons(key, value);
        }
        const bool head = accept('#');
        expect('<');
        const std::size_t end = text_.find('>');
        const auto bitmap = std::stoull(std::string(text_.substr(0, end)), nullptr, 16);
        text_.remove_prefix(end + 1);
        expect('{');
        std::vector<std::uint64_t> items = {node()};
        while (accept(',')) {
            items.push_back(node());
        }
        expect('}');
        return head ? builder_.hash_head(bitmap, items.size(), items)
                    : builder_.hash_node(bitmap, items);
    }

  private:
    bool accept(char c) {
        const bool there = !text_.empty() && text_.front() == c;
        text_.remove_prefix(there ? 1 : 0);
        return there;
    }
    void expect(char c) {
        if (!accept(c)) {
            throw std::runtime_error(fmt::format("expected {} before {}", c, text_.substr(0, 20)));
        }
    }
    std::int64_t number() {
        std::size_t used = 0;
        const auto value = std::stoll(std::string(text_.substr(0, 24)), &used);
        text_.remove_prefix(used);
        return value;
    }

    TermBuilder& builder_;
    std::string_view text_;
};

TEST(TermPrinterOracle, PrintsLargeMapsAsTheirNodes) {
    const auto lines = oracle_lines("large_maps.txt");
    ASSERT_EQ(lines.size(), 5U);
    FakeTermContext context;
    TermBuilder builder(context);
    for (const auto& line : lines) {
        const auto word = NodeParser(builder, line).node();
        EXPECT_EQ(print(context, word), line);
        EXPECT_EQ(print(context, word, kNoTermLimit, 1), line);
    }
}

}  // namespace
}  // namespace beamdump::testing
