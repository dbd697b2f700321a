// What a crash dump tells of a heap, and what it does not.
#include "input/opened_dump.h"
#include "program.h"
#include "query/heap/heap.h"
#include "render/heap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What a process's section says of its memory.
struct Sizes {
    std::uint64_t old_heap = 0;
    std::uint64_t fragments = 0;
    std::uint64_t messages = 0;
};

// The stack's two words end at 7FCA00001000, so that the new heap of 512 words begins at ...0000. A
// tuple of two in it, seven words on a list (seven words are lacking, an odd number, before the
// list's tuple); elsewhere another tuple.
std::string text_of(const Sizes& sizes) {
    return fmt::format(
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: Erlang/OTP "
        "25 "
        "[erts-13.1.5] [source] [64-bit] [smp:2:4]\nAtoms: 9747\n=proc:<0.9.1>\nState: Waiting\n"
        "Message queue length: {}\nNumber of heap fragments: 0\nHeap fragment data: {}\n"
        "Stack+heap: 512\nOldHeap: {}\nHeap unused: 412\nOldHeap unused: 0\n"
        "=proc_stack:<0.9.1>\ny0:H7FCA00000000\n0x7FCA00000FF8:SReturn addr 0x12A085BC (a:b/0 + "
        "8)\n"
        "=proc_heap:<0.9.1>\n"
        "7FCA00000000:t2:H7FCA00000050,H7FCA10000000\n"
        "7FCA00000050:t3:I1,I2,H7FCA00000078\n"
        "7FCA00000078:lI7|N\n"
        "7FCA10000000:t1:A2:ok\n"
        "=literals\n7FCB00000000:t1:A1:x\n"
        "=node:'me@here'\n=end\n",
        sizes.messages, sizes.fragments, sizes.old_heap);
}

class HeapOfCrashDump : public ::testing::Test {
  protected:
    Ran heap(const Sizes& sizes, std::vector<std::string> more = {}) {
        const std::string text = text_of(sizes);
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
        more.insert(more.begin(), {"heap", "erl_crash.beamdump", "<0.9.1>"});
        return program_.run(more);
    }

  private:
    Program program_;
};

TEST_F(HeapOfCrashDump, WordsOutsideTheHeapAreOfTheOldHeapWhereThereIsNothingElse) {
    const Ran ran = heap({.old_heap = 100});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("  heap         512   100     9     ?           ?\n"
                                   "  old_heap     100   100     2     ?           ?\n"
                                   "  fragments      0     0     0     ?           ?\n"))
        << "no word is called dead";
}

TEST_F(HeapOfCrashDump, WordsOutsideTheHeapAreOfFragmentsWithoutAnOldHeap) {
    const Ran ran = heap({.fragments = 50});
    EXPECT_THAT(ran.out, HasSubstr("  fragments     50    50     2     ?           ?\n"));
    EXPECT_THAT(heap({.messages = 1}).out,
                HasSubstr("  fragments      ?     ?     2     ?           ?\n"))
        << "what messages take is not told";
}

TEST_F(HeapOfCrashDump, WordsOutsideTheHeapAreUnplacedWhereTheTextDoesNotTell) {
    const Ran ran = heap({.old_heap = 100, .fragments = 50});
    EXPECT_THAT(
        ran.out,
        AllOf(HasSubstr("  heap         512   100     9     ?           ?\n"
                        "  old_heap     100   100     ?     ?           ?\n"
                        "  fragments     50    50     ?     ?           ?\n"),
              HasSubstr("  2 words (16 B) live in areas that the crash dump does not name\n")));
    const Ran json = heap({.old_heap = 100, .fragments = 50}, {"--json"});
    EXPECT_THAT(json.out, AllOf(HasSubstr("\"unplaced\": {\n      \"live_words\": 2,"),
                                Not(HasSubstr("dead_words"))));
}

TEST_F(HeapOfCrashDump, TermsAreThoseOfTheTextAndNoneIsDead) {
    const Ran ran = heap({.old_heap = 100}, {"--terms", "--limit", "0", "--term-bytes", "0"});
    EXPECT_THAT(ran.out, HasSubstr("\nTop-level terms (1, as far as the crash dump has them)\n"
                                   "  ADDRESS         AREA  WORDS    TERM\n"
                                   "  0x7fca00000000  heap     11    {{1,2,[7]},{ok}}\n"));
    EXPECT_THAT(ran.out, Not(HasSubstr("invalid term")));
}

/// The report, and what it does not count, of the process's heap read as `choice` says.
std::pair<std::string, std::vector<std::string>> report_of(const std::string& text,
                                                           const crash::ConvertChoice& choice) {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "erl_crash.dump";
    std::ofstream(path, std::ios::binary) << text;
    auto opened = input::open_dump(path, choice, {}, {}, {});
    EXPECT_TRUE(opened) << opened.error().message;
    auto report = query::heap_report(opened->dump(), "erl_crash.dump", "<0.9.1>",
                                     {.limit = 0, .retained = true, .limits = {}});
    EXPECT_TRUE(report) << report.error().message;
    KeptOutput out;
    render::heap_json(out, *report);
    out.flush();
    // Of the temporary dump.
    const std::regex file_bytes(" *\"file_bytes\": [^\n]*\n");
    return {std::regex_replace(out.text(), file_bytes, ""), opened->missing()};
}

TEST(LazyHeapOfCrashDump, HasTheSameReport) {
    const crash::ConvertChoice whole{.heaps = crash::ConvertChoice::Heaps::kOne,
                                     .process = "<0.9.1>"};
    auto lazily = whole;
    lazily.lazily_from = 0;
    const auto text = text_of({.old_heap = 100});
    const auto at = text.find("=literals");
    struct Case {
        std::string lines;    ///< further ones of the heap
        std::string element;  ///< in place of the list's element, 7
        std::size_t missing;  ///< sentences
    };
    for (const auto& [lines, element, missing] :
         {Case{"", "I7", 0}, Case{"7FCA10000100:t1:A5:other\n", "H7FCA10000100", 0},
          // A malformed line of an object that a term leads to; of one that none does; of none.
          Case{"7FCA10000100:t2:I1\n", "H7FCA10000100", 1}, Case{"7FCA10000100:t2:I1\n", "I7", 1},
          Case{"nonsense\n7FCA10000100:t2:I1\n", "H7FCA10000100", 1},
          // Overlapping objects, and a malformed line.
          Case{"7FCA10000100:t3:I1,I2,I3\n7FCA10000110:t1:I1\nnonsense\n", "H7FCA10000110", 2}}) {
        auto changed = text;
        changed.insert(at, lines);
        changed.replace(changed.find("lI7"), 3, "l" + element);
        const auto expected = report_of(changed, whole);
        EXPECT_THAT(expected.first, HasSubstr("\"retained\""));
        EXPECT_EQ(expected.second.size(), missing) << lines;
        EXPECT_EQ(report_of(changed, lazily), expected) << lines;
    }
}

}  // namespace
}  // namespace beamdump::test
