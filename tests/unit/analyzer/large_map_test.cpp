// Large maps: one look in every command, whatever the release and the source.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// erl_map.h, OTP 25.2.3: header arity (its bitmap), type, subtag.
constexpr std::uint64_t hash_header(std::uint64_t bitmap, std::uint64_t type) {
    return bitmap << 16U | type << 6U | 0x3CU;
}
constexpr std::uint64_t kHead = 2;
constexpr std::uint64_t kNode = 1;

/// `alpha` with #{1=>2,3=>4}, as the runtime keeps maps of more than 32 pairs, in a stack, a
/// message and a dictionary.
std::vector<std::byte> map_dump() {
    const std::uint64_t heap = heap_of(1);
    SampleDump dump;
    SampleProcess process;
    process.name = kAlphaAtom;
    process.heap = {small_word(1),
                    small_word(2),  // a pair
                    small_word(3),
                    small_word(4),
                    hash_header(0x20, kNode),
                    list_word(heap + 16),
                    hash_header(0x81, kHead),
                    small_word(2),
                    list_word(heap),
                    boxed_word(heap + 32),
                    tuple_header(2),
                    atom_word(kLoopAtom),
                    boxed_word(heap + 48)};
    process.stack = {boxed_word(heap + 48), kNormalExit};
    process.dictionary = {boxed_word(heap + 80)};
    process.messages = {boxed_word(heap + 48)};
    dump.add(process);
    return dump.finish();
}

TEST(LargeMaps, PrintAsPairsInEveryCommand) {
    Program program;
    program.put("map.beamdump", map_dump());
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"backtrace"},
                                                      {"backtrace", "--lines"},
                                                      {"backtrace", "--json"},
                                                      {"messages"},
                                                      {"dictionary"},
                                                      {"process"},
                                                      {"heap", "--terms"}}) {
        auto command = arguments;
        command.insert(command.begin() + 1, {"map.beamdump", "alpha"});
        const Ran ran = program.run(command);
        EXPECT_THAT(ran.out, HasSubstr("#{1=>2,3=>4}")) << command.front();
        EXPECT_THAT(ran.out, Not(HasSubstr("#<"))) << command.front();
    }
}

TEST(LargeMaps, PrintInClassicAsTheVmDoes) {
    Program program;
    program.put("map.beamdump", map_dump());
    EXPECT_THAT(program.run({"backtrace", "map.beamdump", "alpha", "--term-limit", "classic"}).out,
                HasSubstr("y(0)     #<81>{[1|2],<20>{[3|4]}}\n"));
}

TEST(LargeMaps, CrashDumpsNeverShowNodesThatAreNotInThem) {
    Program program;
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: Erlang/OTP "
        "25 "
        "[erts-13.1.5] [source] [64-bit] [smp:2:4]\nAtoms: 9747\n=proc:<0.9.1>\nState: Waiting\n"
        "Message queue length: 1\nStack+heap: 610\nOldHeap: 0\nHeap unused: 8\nOldHeap unused: 0\n"
        "=proc_messages:<0.9.1>\nH7FCA00000500:N\n"
        "=proc_stack:<0.9.1>\ny0:H7FCA00000500\n"
        "=proc_heap:<0.9.1>\n"
        "7FCA00000500:Mh2:2:H7FCA00000540,H7FCA00000560\n"
        "7FCA00000540:Mn1:H7FCA00000580\n"
        "7FCA00000560:lA1:k|A1:v\n"
        "7FCA00000580:lI7|I8\n"
        "=node:'me@here'\n=end\n";
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    program.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
    for (const char* limit : {"classic", "none"}) {
        EXPECT_THAT(
            program.run({"backtrace", "erl_crash.beamdump", "<0.9.1>", "--term-limit", limit}).out,
            HasSubstr("y(0)     #{7=>8,k=>v}\n"));
    }
    EXPECT_THAT(program.run({"messages", "erl_crash.beamdump", "<0.9.1>"}).out,
                HasSubstr("#{7=>8,k=>v}\n"));
}

TEST(LargeMaps, PersistentTermsPrintAsPairs) {
    Program program;
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: Erlang/OTP "
        "26 [erts-14.2] [source] [64-bit]\nAtoms: 1\n=persistent_terms\nA1:t|H7FCA00000500\n"
        "=literals\n"
        "7FCA00000500:Mh2:2:H7FCA00000540,H7FCA00000560\n"
        "7FCA00000540:Mn1:H7FCA00000580\n"
        "7FCA00000560:lA1:k|A1:v\n"
        "7FCA00000580:lI7|I8\n"
        "=end\n";
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    program.put("erl_crash.beamdump", std::vector(bytes, bytes + text.size()));
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"t"}}) {
        std::vector<std::string> words = {"persistent-terms", "erl_crash.beamdump"};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_THAT(program.run(words).out, HasSubstr("#{7=>8,k=>v}"));
    }
}

}  // namespace
}  // namespace beamdump::test
