// A crash dump is redacted while it is converted: none of what is planted in it is left.
#include "program.h"

#include <libdump/read/dump_reader.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <regex>
#include <span>
#include <string>
#include <vector>

namespace beamdump::test {
namespace {

/// No other text of the dumps has these letters one after the other.
constexpr std::string_view kPlanted = "QXZJ";
constexpr std::int64_t kPlantedNumber = 7'654'321'987;

/// In every place of a crash dump: terms of all kinds on a heap, among the literals, in messages, a
/// dictionary, persistent terms and timers; names of processes, tables, nodes and atoms; command
/// lines, attributes of modules, the slogan, and a section that no release writes.
std::string planted_text() {
    std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: Kernel pid terminated QXZJslogan\n"
        "System version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2] [jit:ns]\n"
        "Taints: crypto\nAtoms: 9747\nCalling Thread: scheduler:1\n"
        "=scheduler:1\nRun Queue Max Length: 0\nRun Queue Normal Length: 7\n"
        "Current Process: <0.9.0>\n"
        "=memory\ntotal: 4096\n"
        "=proc:<0.9.0>\nState: Waiting\nName: 'QXZJ registered'\nSpawned as: shop:cart/1\n"
        "Message queue length: 3\nNumber of heap fragments: 0\nHeap fragment data: 0\n"
        "Link list: [{to,{'QXZJ_name','QXZJ@node'},#Ref<0.1.2.3>}]\nReductions: 100\n"
        "Stack+heap: 512\nOldHeap: 0\nHeap unused: 412\nOldHeap unused: 0\nMemory: 5000\n"
        "Program counter: 0x00007fca12a085bc (shop:loop/2 + 320)\narity = 0\n"
        "=port:#Port<0.5>\nState: CONNECTED\nSlot: 40\nConnected: <0.9.0>\nLinks: <0.9.0>\n"
        "Registered as: 'QXZJport'\nPort controls external process: psql -p QXZJcommand\n"
        "Input: 12\nOutput: 25\nQueue: 0\n"
        "=port:#Port<0.6>\nConnected: <0.9.0>\nPort controls external process: sh -c 'a\n"
        "State: QXZJ\nnext line QXZJ'\nInput: 1\n"
        "=ets:<0.9.0>\nSlot: 1\nTable: 'QXZJtable'\nName: QXZJtable\nBuckets: 256\n"
        "Chain Length Avg: 0.011719\nObjects: 3\nWords: 3593\nType: set\nProtection: protected\n"
        "Compressed: false\nWrite Concurrency: true\nRead Concurrency: true\n"
        "=timer:'QXZJreceiver'\nMessage: {'QXZJ',\"QXZJtimer\",7654321987}\nTime left: 999592\n"
        "=visible_node:3\nName: 'QXZJ@other'\nController: #Port<0.5>\n"
        "Remote link: <0.9.0> <3.1.0>\n"
        "=not_connected:4\nName: 'QXZJ@gone'\n"
        "=loaded_modules\nCurrent code: 4195960\nOld code: 0\n"
        "=mod:shop\nCurrent size: 2488\nCurrent attributes: QXZJattributes\n"
        "=fun\nModule: shop\nUniq: 7654321987\nIndex: 29\nRefc: 1\n"
        "=qxzj_QXZJ:QXZJargument\nQXZJ: of a later release\nSize: 7654321987\n"
        "=proc_dictionary:<0.9.0>\nH7FCA00000100\n"
        "=proc_stack:<0.9.0>\ny0:H7FCA00000000\ny1:AA:QXZJ_stack\ny2:I7654321987\n"
        "0x00007fca00000fe0:SReturn addr 0x12A085BC (shop:loop/2 + 8)\n"
        "=proc_heap:<0.9.0>\n"
        "7FCA00000000:tA:H7FCA00000058,H7FCA00000068,N,H7FCA00000098,H7FCA000000B0,"
        "H7FCA00000200,H7FCA00000240,H7FCA00000280,I7654321987,A9:QXZJ_atom\n";
    const auto list = [&text](std::uint64_t at, std::string_view characters) {
        for (std::size_t index = 0; index < characters.size(); ++index, at += 16) {
            const bool last = index + 1 == characters.size();
            text += fmt::format("{:X}:lI{}|{}\n", at, static_cast<int>(characters[index]),
                                last ? "N" : fmt::format("H{:X}", at + 16));
        }
    };
    text += "7FCA00000058:lI1|H7FCA00000400\n";
    list(0x7FCA'0000'0400, "QXZJ in a list");
    text +=
        "7FCA00000068:YhE:UVhaSmhlYXBiaW5hcnk=\n"  // QXZJheapbinary
        "7FCA00000098:B12345678901234567890\n"
        "7FCA000000B0:F1A:7.65432198700000000000e+09\n"
        "7FCA00000100:t2:A9:QXZJ_key_,H7FCA00000400\n"
        "7FCA00000200:Mf2:H7FCA00000300:I7654321987,H7FCA00000400\n"
        "7FCA00000300:t2:A8:QXZJ_map,A2:ok\n"
        "7FCA00000240:Yc7FCB10000000:0:11\n"
        "7FCA00000280:p<0.9>\n"
        "=proc_messages:<0.9.0>\nH7FCA00000100:N\nI7654321987:N\n"
        "D0:E10:g2sADFFYWkpleHRlcm5hbA==:N\n"
        "=persistent_terms\nAA:QXZJ_pterm|H7FCC00000000\n"
        "=literals\n7FCC00000000:t2:A9:QXZJ_lit_,I7654321987\n"
        "=binary:7FCB10000000\n11:UVhaSiBvZmYgdGhlIGhlYXA=\n"
        "=node:'QXZJ@here'\n=atoms\nQXZJ_atom\n'QXZJ with space'\nok\n=end\n";
    return text;
}

class RedactedCrashDump : public ::testing::Test {
  protected:
    void SetUp() override {
        text_ = planted_text();
        put("text.beamdump", text_);
    }
    void put(const std::string& name, std::string_view text) {
        const auto bytes = std::as_bytes(std::span(text));
        program_.put(name, {bytes.begin(), bytes.end()});
    }
    Ran redact(const std::string& dump, const std::string& policy) {
        return program_.run(
            {"redact", dump, "-o", "redacted.beamdump", "--force", "--policy", policy});
    }
    /// The decompressed records of a dump, as the node's words.
    std::vector<std::byte> content(const std::string& name) {
        auto reader = DumpReader::open(program_.path(name));
        EXPECT_TRUE(reader);
        std::vector<std::byte> bytes(reader->flat_bytes());
        EXPECT_TRUE(reader->read(0, bytes));
        return bytes;
    }
    static std::size_t count(std::span<const std::byte> in, std::span<const std::byte> what) {
        std::size_t found = 0;
        for (std::size_t at = 0; at + what.size() <= in.size(); ++at) {
            found += std::memcmp(in.data() + at, what.data(), what.size()) == 0 ? 1U : 0U;
        }
        return found;
    }
    static std::size_t texts(std::span<const std::byte> in) {
        return count(in, std::as_bytes(std::span(kPlanted)));
    }
    template <typename Number>
    static std::size_t numbers(std::span<const std::byte> in, const Number& number) {
        return count(in, std::as_bytes(std::span(&number, 1)));
    }
    /// Cells with the first two letters in a row: the second is two words behind the first.
    static std::size_t lists(std::span<const std::byte> in) {
        constexpr std::size_t kCell = 16;
        std::size_t found = 0;
        for (std::size_t at = 0; at + kCell + 8 <= in.size(); at += 8) {
            std::uint64_t first = 0;
            std::uint64_t second = 0;
            std::memcpy(&first, in.data() + at, 8);
            std::memcpy(&second, in.data() + at + kCell, 8);
            found += first == small('Q') && second == small('X') ? 1U : 0U;
        }
        return found;
    }
    static constexpr std::uint64_t small(std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 4U | 0xFU;
    }

    Program program_;
    std::string text_;
};

constexpr std::uint64_t kBigDigits = 12'345'678'901'234'567'890U;
constexpr double kFloat = 7.654321987e9;

TEST_F(RedactedCrashDump, HasNothingThatWasPlanted) {
    ASSERT_EQ(program_.run({"convert", "text.beamdump", "-o", "whole.beamdump"}).status, 0);
    const auto whole = content("whole.beamdump");
    EXPECT_GE(texts(whole), 30U);
    EXPECT_GE(numbers(whole, small(kPlantedNumber)), 4U);
    EXPECT_EQ(numbers(whole, kBigDigits), 1U);
    EXPECT_EQ(numbers(whole, kFloat), 1U);
    EXPECT_GE(lists(whole), 1U);
    for (const auto* dump : {"text.beamdump", "whole.beamdump"}) {
        const Ran ran = redact(dump, "structure");
        ASSERT_EQ(ran.status, 0) << ran.err;
        EXPECT_EQ(ran.err, "");
        const auto redacted = content("redacted.beamdump");
        EXPECT_EQ(texts(redacted), 0U) << dump;
        EXPECT_EQ(numbers(redacted, small(kPlantedNumber)), 0U);
        EXPECT_EQ(count(redacted, std::as_bytes(std::span("7654321987", 10))), 0U);
        EXPECT_EQ(numbers(redacted, kBigDigits), 0U);
        EXPECT_EQ(numbers(redacted, kFloat), 0U);
        EXPECT_EQ(lists(redacted), 0U);
    }
}

TEST_F(RedactedCrashDump, HasNoTextsAtTheLevelText) {
    const Ran ran = redact("text.beamdump", "text");
    ASSERT_EQ(ran.status, 0) << ran.err;
    const auto redacted = content("redacted.beamdump");
    for (const std::string text :
         {"QXZJslogan", "QXZJcommand", "QXZJtimer", "QXZJheapbinary", "QXZJexternal", "QXZJ off",
          "QXZJattributes", "QXZJargument", "QXZJ: of", "next line"}) {
        EXPECT_EQ(count(redacted, std::as_bytes(std::span(text))), 0U) << text;
    }
    EXPECT_EQ(lists(redacted), 0U);
    EXPECT_NE(count(redacted, std::as_bytes(std::span("QXZJ_atom", 9))), 0U);
    EXPECT_NE(numbers(redacted, small(kPlantedNumber)), 0U);
}

TEST_F(RedactedCrashDump, KeepsSizesAndShapes) {
    ASSERT_EQ(program_.run({"convert", "text.beamdump", "-o", "whole.beamdump"}).status, 0);
    ASSERT_EQ(redact("text.beamdump", "structure").status, 0);
    const auto trace = program_.run({"backtrace", "redacted.beamdump", "<0.9.0>"}).out;
    EXPECT_NE(trace.find("{[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],<<\"xxxxxxxxxxxxxx\">>,"),
              std::string::npos)
        << trace;
    // Numbers, and how often each field is there.
    const auto without_texts = [this](std::vector<std::string> question, const char* dump) {
        question.insert(question.begin() + 1, dump);
        question.emplace_back("--json");
        const auto out = program_.run(question).out;
        static const std::regex kTexts("\": \".*");
        return std::regex_replace(out.substr(out.find("\n  },")), kTexts, "");
    };
    for (const auto& question : std::vector<std::vector<std::string>>{{"processes"},
                                                                      {"ets"},
                                                                      {"ports"},
                                                                      {"timers"},
                                                                      {"modules"},
                                                                      {"schedulers"},
                                                                      {"nodes"},
                                                                      {"binaries"},
                                                                      {"heap", "<0.9.0>"},
                                                                      {"persistent-terms"}}) {
        const auto whole = without_texts(question, "whole.beamdump");
        EXPECT_GT(whole.size(), 40U) << question[0];
        EXPECT_EQ(without_texts(question, "redacted.beamdump"), whole) << question[0];
    }
}

TEST_F(RedactedCrashDump, SaysSoAndHasNoSlogan) {
    ASSERT_EQ(redact("text.beamdump", "structure").status, 0);
    const auto out = program_.run({"summary", "redacted.beamdump"}).out;
    EXPECT_NE(out.find("redacted    structure, afterwards"), std::string::npos) << out;
    EXPECT_NE(out.find("slogan      unknown"), std::string::npos) << out;
}

TEST_F(RedactedCrashDump, ATruncatedTextGivesAWholeDumpThatSaysWhatIsMissing) {
    put("text.beamdump", text_.substr(0, text_.find("=mod:shop") + 6));
    const Ran ran = redact("text.beamdump", "structure");
    EXPECT_EQ(ran.status, 3);
    EXPECT_NE(ran.err.find("breaks off"), std::string::npos) << ran.err;
    EXPECT_EQ(texts(content("redacted.beamdump")), 0U);
}

TEST_F(RedactedCrashDump, AShortHeadHasRoomForThePolicy) {
    put("text.beamdump",
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: a\n"
        "System version: Erlang/OTP 25 [erts-13.1.5] [64-bit]\n=end\n");
    const Ran ran = redact("text.beamdump", "structure");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(program_.run({"summary", "redacted.beamdump"}).out.find("redacted    structure"),
              std::string::npos);
}

TEST_F(RedactedCrashDump, TakesNoListsOfTerms) {
    put("policy.json", R"({"level": "structure", "keep_keys": ["status"]})");
    ASSERT_EQ(program_.run({"convert", "text.beamdump", "-o", "whole.beamdump"}).status, 0);
    for (const auto* dump : {"text.beamdump", "whole.beamdump"}) {
        const Ran ran = redact(dump, program_.path("policy.json"));
        EXPECT_EQ(ran.status, 1);
        EXPECT_NE(ran.err.find("a policy's lists of modules"), std::string::npos) << ran.err;
        EXPECT_FALSE(std::filesystem::exists(program_.path("redacted.beamdump")));
    }
}

}  // namespace
}  // namespace beamdump::test
