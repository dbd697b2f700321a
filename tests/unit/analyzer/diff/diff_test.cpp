#include "query/diff/diff.h"

#include "program.h"
#include "query/diff/heap_diff.h"
#include "sample_history.h"

#include <libdump/model/dump.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Diff : public ::testing::Test {
  protected:
    query::DumpsDiff diff(const std::vector<std::string>& names,
                          const query::DiffOptions& options = {}) {
        return expect_value(query::diff_dumps(open(names), options));
    }

    std::vector<query::DiffInput> open(const std::vector<std::string>& names) {
        std::vector<query::DiffInput> inputs;
        for (const auto& name : names) {
            dumps_.push_back(expect_value(Dump::open(program_.path(name))));
            inputs.push_back({dumps_.back().get(), name});
        }
        return inputs;
    }

    Program program_;

  private:
    std::vector<std::unique_ptr<Dump>> dumps_;
};

const query::DiffSection& section(const query::DumpsDiff& diff, std::string_view name) {
    return *std::ranges::find(diff.sections, name,
                              [](const query::DiffSection& one) { return one.kind->name; });
}

std::vector<std::string> keys(const std::vector<query::ThingChange>& changes) {
    std::vector<std::string> found;
    for (const auto& change : changes) {
        found.push_back(change.key);
    }
    return found;
}

class DiffOfStarts : public Diff {
  protected:
    /// Of two dumps of one run, so many seconds apart.
    std::optional<query::ProcessStarts> between(std::optional<std::uint32_t> first,
                                                std::optional<std::uint32_t> last,
                                                std::int64_t seconds) {
        constexpr std::int64_t kBegin = 1'700'000'100'000'000;
        const auto put = [&](const std::string& name, std::int64_t at_us, const auto& started) {
            SampleLayout layout;
            layout.processes_started = started;
            SampleDump dump(at_us, layout);
            dump.add(alpha_process());
            program_.put(name, dump.finish());
        };
        put("first.beamdump", kBegin, first);
        put("last.beamdump", kBegin + seconds * 1'000'000, last);
        return diff({"first.beamdump", "last.beamdump"}).starts;
    }
};

TEST_F(DiffOfStarts, AreCountedBetweenTwoDumps) {
    const auto starts = between(1000, 1600, 60);
    ASSERT_TRUE(starts);
    EXPECT_EQ(starts->count, 600U);
    EXPECT_DOUBLE_EQ(starts->per_second(), 10.0);
    EXPECT_FALSE(starts->at_least);
    EXPECT_FALSE(between(std::nullopt, 1600, 60));
    EXPECT_FALSE(between(1000, std::nullopt, 60));
    EXPECT_FALSE(between(1000, 1600, -60)) << "the second dump is the earlier one";
}

TEST_F(DiffOfStarts, AreCountedWhereTheCountBeganAnew) {
    EXPECT_EQ(between(0xffffff00, 0x100, 60)->count, 0x200U);
    EXPECT_FALSE(between(1000, 1600, 3600)->at_least);
    EXPECT_TRUE(between(1000, 1600, 3601)->at_least) << "it may have begun anew since";
}

class DiffOfHistory : public Diff {
  protected:
    /// A dump with the readings of ten minutes, compared with one of so many seconds after their
    /// begin.
    std::vector<std::string> with_history(std::int64_t seconds, bool of_other_run = false) {
        SampleLayout layout;
        layout.os_pid += of_other_run ? 1 : 0;
        SampleDump first(kHistoryBegin + seconds * 1'000'000, layout);
        first.add(alpha_process());
        program_.put("first.beamdump", first.finish());
        SampleDump watched(kHistoryBegin + 600'000'000);
        watched.add(alpha_process());
        add_history(watched.builder());
        program_.put("watched.beamdump", watched.finish());
        return {"first.beamdump", "watched.beamdump"};
    }
};

TEST_F(DiffOfHistory, ReadingsBetweenTheDumpsAreTold) {
    const auto found = diff(with_history(101)).history;
    ASSERT_TRUE(found);
    EXPECT_EQ(found->readings.size(), 49U);
    EXPECT_EQ(found->readings.front().memory, 111U << 20U);
    constexpr std::uint64_t kFrom = kHistoryBegin + 101'000'000;
    EXPECT_THAT(found->scans_us, ::testing::Each(::testing::Ge(kFrom)));
    const auto ran = program_.run({"diff", "first.beamdump", "watched.beamdump"});
    EXPECT_THAT(ran.out, HasSubstr("In between, by 49 readings of beamdump-watch"));
    EXPECT_THAT(ran.out, ::testing::ContainsRegex("memory +111.0 MiB +111.0 MiB +159.0 MiB"));
    EXPECT_THAT(ran.out, HasSubstr("Heaps that grew most"));
}

TEST_F(DiffOfHistory, ReadingsOfAnotherRunOrBeforeAreNot) {
    EXPECT_FALSE(diff(with_history(581)).history) << "one reading only";
    EXPECT_FALSE(diff(with_history(101, true)).history);
    std::vector<std::string> turned = with_history(101);
    std::swap(turned.front(), turned.back());
    EXPECT_FALSE(diff(turned).history) << "the last dump has none";
}

TEST_F(Diff, TellsStartedExitedAndGrownProcesses) {
    const auto result = diff({"sample.beamdump", "later.beamdump"});
    EXPECT_TRUE(result.same_run);
    const auto& processes = section(result, "processes");
    // 2 and 4 have exited; 3 is another process with the pid of one that has exited.
    EXPECT_EQ(processes.gone, 3U);
    EXPECT_EQ(processes.appeared, 2U);
    EXPECT_EQ(processes.common, 1U);
    EXPECT_EQ(processes.grown, 1U);
    EXPECT_EQ(processes.shrunk, 0U);
    EXPECT_THAT(keys(processes.grown_most), ElementsAre("<0.1.0>", "<0.5.0>", "<0.3.0>"));
    EXPECT_THAT(keys(processes.gone_most), ElementsAre("<0.2.0>", "<0.3.0>", "<0.4.0>"));
    const auto& alpha = processes.grown_most[0];
    EXPECT_EQ(alpha.title, "<0.1.0> alpha");
    EXPECT_EQ(alpha.of(query::Measure::kSize)->change, 4000);
    // In two minutes.
    EXPECT_EQ(alpha.of(query::Measure::kSize)->change_per_hour, 120'000);
    EXPECT_EQ(alpha.of(query::Measure::kCount)->change, 1);
    EXPECT_FALSE(alpha.of(query::Measure::kSize)->steady);
    EXPECT_FALSE(alpha.appeared);
    EXPECT_TRUE(processes.grown_most[1].appeared);
    EXPECT_EQ(section(result, "mailboxes").grown_most[0].key, "<0.1.0>");
}

TEST_F(Diff, WithItselfFindsNothing) {
    const auto result = diff({"sample.beamdump", "sample.beamdump"});
    EXPECT_TRUE(result.growth.empty());
    EXPECT_FALSE(result.has_growth());
    for (const auto& one : result.sections) {
        EXPECT_EQ(one.appeared + one.gone + one.grown + one.shrunk + one.changed, 0U)
            << one.kind->name;
    }
    EXPECT_EQ(section(result, "processes").common, 4U);
}

TEST_F(Diff, BackwardsSwapsStartedAndExited) {
    const auto result = diff({"later.beamdump", "sample.beamdump"});
    EXPECT_EQ(section(result, "processes").appeared, 3U);
    EXPECT_EQ(section(result, "processes").gone, 2U);
    EXPECT_EQ(section(result, "processes").shrunk, 1U);
    // Not per hour, as the times descend.
    EXPECT_FALSE(
        section(result, "processes").grown_most[0].of(query::Measure::kSize)->change_per_hour);
}

TEST_F(Diff, LimitKeepsTheFirst) {
    query::DiffOptions options;
    options.limit = 1;
    const auto result = diff({"sample.beamdump", "later.beamdump"}, options);
    EXPECT_THAT(keys(section(result, "processes").gone_most), ElementsAre("<0.2.0>"));
    EXPECT_EQ(section(result, "processes").gone, 3U);
}

TEST_F(Diff, OnlySteadyGrowthOfThreeDumpsIsFound) {
    program_.put("middle.beamdump", [] {
        SampleDump dump(1'700'000'160'000'000);
        SampleProcess alpha = alpha_process();
        alpha.memory = 7000;
        dump.add(alpha);
        SampleProcess jumping;
        jumping.number = 2;
        jumping.name = kQuotedAtom;
        jumping.memory = 3000;
        dump.add(jumping);
        return dump.finish();
    }());
    const auto once = diff({"sample.beamdump", "sample.beamdump", "later.beamdump"});
    const auto& series = *section(once, "processes").grown_most[0].of(query::Measure::kSize);
    EXPECT_EQ(series.steps, 2U);
    EXPECT_EQ(series.rises, 1U);
    EXPECT_EQ(series.steady, false);
    const auto steady = diff({"sample.beamdump", "middle.beamdump", "later.beamdump"});
    const auto& alpha = section(steady, "processes").grown_most[0];
    EXPECT_EQ(alpha.key, "<0.1.0>");
    EXPECT_EQ(alpha.of(query::Measure::kSize)->rises, 2U);
    EXPECT_EQ(alpha.of(query::Measure::kSize)->steady, true);
}

TEST_F(Diff, AbsentIsNotZero) {
    // The first has ports, the second none.
    const auto result = diff({"sample.beamdump", "later.beamdump"});
    const auto& ports = section(result, "ports");
    EXPECT_THAT(ports.has, ElementsAre(true, false));
    EXPECT_EQ(ports.appeared + ports.gone, 0U);
    EXPECT_FALSE(ports.compared());
    const Ran ran = program_.run({"diff", "sample.beamdump", "later.beamdump"});
    EXPECT_THAT(ran.out, HasSubstr("\nPorts by name: not compared, dump 2 lacks it\n"));
    EXPECT_THAT(ran.out, Not(HasSubstr("ETS tables:")));
}

TEST_F(Diff, AProcessMissingInATruncatedDumpIsNotGone) {
    auto cut = sample_dump();
    cut.resize(cut.size() - 60);
    program_.put("cut.beamdump", cut);
    const auto result = diff({"sample.beamdump", "cut.beamdump"});
    const auto& processes = section(result, "processes");
    EXPECT_THAT(processes.whole, ElementsAre(true, false));
    EXPECT_EQ(processes.gone, 0U);
    EXPECT_FALSE(section(result, "groups").compared());
}

TEST_F(Diff, AcrossRunsProcessesAreFoundByName) {
    program_.put("other.beamdump", [] {
        SampleDump dump(1'700'000'220'000'000, {.os_pid = 4712});
        SampleProcess alpha = alpha_process();
        alpha.number = 17;
        alpha.memory = 9000;
        dump.add(alpha);
        return dump.finish();
    }());
    const auto result = diff({"sample.beamdump", "other.beamdump"});
    EXPECT_FALSE(result.same_run);
    const auto& processes = section(result, "processes");
    EXPECT_THAT(keys(processes.grown_most), ElementsAre("registered alpha"));
    EXPECT_EQ(processes.grown_most[0].of(query::Measure::kSize)->change, 4000);
    EXPECT_EQ(processes.common, 1U);
    EXPECT_EQ(processes.gone, 3U);
    const Ran ran = program_.run({"diff", "sample.beamdump", "other.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("The dumps are of different nodes or runs"));
    const Ran heap =
        program_.run({"diff", "sample.beamdump", "other.beamdump", "--heap", "<0.1.0>"});
    EXPECT_EQ(heap.status, 2);
    EXPECT_THAT(heap.err, HasSubstr("give a registered name"));
}

/// A crash dump's text with one process for each initial call.
std::string crash_text(const std::string& date, const std::vector<std::string>& calls) {
    std::string text = "=erl_crash_dump:0.5\n" + date +
                       "\nSlogan: stopped\n"
                       "System version: Erlang/OTP 25 [erts-13.1.5] [64-bit] [smp:2:2] [jit]\n";
    for (std::size_t i = 0; i < calls.size(); ++i) {
        text += fmt::format("=proc:<0.{}.0>\nState: Waiting\nSpawned as: {}\nReductions: 5\n",
                            i + 1, calls[i]);
    }
    return text + "=end\n";
}

class DiffOfCrashDumps : public Diff {
  protected:
    query::DumpsDiff crash_diff(const std::string& date, const std::string& later_date,
                                const std::vector<std::string>& calls,
                                const std::vector<std::string>& later_calls) {
        for (const auto& [name, text] : {std::pair{"before", crash_text(date, calls)},
                                         std::pair{"after", crash_text(later_date, later_calls)}}) {
            const auto bytes = std::as_bytes(std::span(text));
            program_.put(std::string(name) + ".dump", {bytes.begin(), bytes.end()});
            const Ran ran = program_.run({"convert", program_.path(std::string(name) + ".dump"),
                                          "-o", std::string(name) + ".beamdump", "--force"});
            EXPECT_EQ(ran.status, 0) << ran.err;
        }
        return diff({"before.beamdump", "after.beamdump"});
    }
    static constexpr auto kDate = "Sun Nov 22 18:11:27 2026";
};

TEST_F(DiffOfCrashDumps, InitialCallsAreComparedByNameNotByAtomNumber) {
    // In the second text other atoms come first, so the same names have other numbers there.
    const auto result =
        crash_diff(kDate, kDate, {"one:start/1", "two:start/1"}, {"one:start/1", "two:start/1"});
    EXPECT_EQ(section(result, "processes").common, 2U);
    const auto moved = crash_diff(kDate, kDate, {"zero:start/0", "one:start/1", "two:start/1"},
                                  {"other:begin/0", "one:start/1", "two:start/1"});
    EXPECT_EQ(section(moved, "processes").common, 2U);
    EXPECT_EQ(section(moved, "processes").appeared, 1U);
    EXPECT_EQ(section(moved, "processes").gone, 1U);
}

TEST_F(DiffOfCrashDumps, TwoCrashesAreOfTwoRuns) {
    const auto result = crash_diff(kDate, "Sun Nov 22 18:15:00 2026",
                                   {"one:start/1", "one:start/1"}, {"one:start/1"});
    EXPECT_FALSE(result.same_run);
    // All processes of one initial call are one thing.
    EXPECT_EQ(section(result, "processes").common, 1U);
    EXPECT_EQ(section(result, "groups").things, 1U);
    // These texts have no atoms, modules or tables.
    for (const auto* name : {"atoms", "modules", "ets_tables"}) {
        EXPECT_THAT(section(result, name).has, ElementsAre(false, false)) << name;
    }
}

/// Atoms that begin with `prefix` and end with `suffix`, with a word of letters between.
std::vector<std::string> alike_atoms(std::string_view prefix, std::string_view suffix, int count) {
    std::vector<std::string> atoms;
    for (int number = 0; number < count; ++number) {
        std::string word;
        for (int left = number + 1; left != 0; left /= 26) {
            word += static_cast<char>('a' + left % 26);
        }
        atoms.push_back(fmt::format("{}{}{}", prefix, word, suffix));
    }
    return atoms;
}

class DiffOfAtoms : public DiffOfCrashDumps {
  protected:
    void put(const std::string& name, const std::vector<std::string>& atoms) {
        auto text = crash_text(kDate, {"one:start/1"});
        text.insert(text.find("=proc:"), fmt::format("Atoms: {}\n", atoms.size()));
        text.insert(text.find("=end"), fmt::format("=atoms\n{}\n", fmt::join(atoms, "\n")));
        const auto bytes = std::as_bytes(std::span(text));
        program_.put(name + ".dump", {bytes.begin(), bytes.end()});
        const Ran ran =
            program_.run({"convert", program_.path(name + ".dump"), "-o", name + ".beamdump"});
        EXPECT_EQ(ran.status, 0) << ran.err;
    }
    /// The names of atoms that grew, with their number in both dumps.
    std::vector<std::string> grown() {
        const auto result = diff({"first.beamdump", "second.beamdump"});
        const auto& atoms = section(result, "atoms");
        EXPECT_EQ(atoms.appeared, 0U);
        EXPECT_EQ(atoms.gone, 0U);
        std::vector<std::string> found;
        for (const auto& change : atoms.grown_most) {
            const auto& values = change.of(query::Measure::kMembers)->values;
            found.push_back(
                fmt::format("{} {} {}", change.key, values[0].value_or(0), values[1].value_or(0)));
        }
        return found;
    }
};

TEST_F(DiffOfAtoms, AtomsListedByThemselvesInOneDumpAreOfTheOthersGroup) {
    put("first", alike_atoms("uid_", "_x", 600));
    put("second", alike_atoms("uid_", "_x", 1600));
    EXPECT_THAT(grown(), ElementsAre("'uid_*_x' 600 1600"));
}

TEST_F(DiffOfAtoms, GroupsThatTwoDumpsMakeInTwoWaysAreComparedAsOne) {
    auto atoms = alike_atoms("uid_", "", 1100);
    put("first", atoms);
    std::ranges::copy(alike_atoms("uid_", "_x", 3000), std::back_inserter(atoms));
    put("second", atoms);
    EXPECT_THAT(grown(), ElementsAre("'uid_*' or 'uid_*_x' 1100 4100"));
}

TEST_F(DiffOfCrashDumps, ComparesModulesOfTextsThatHaveThem) {
    const auto put = [this](const std::string& name, const std::string& modules) {
        auto text = crash_text(kDate, {"one:start/1"});
        text.insert(text.find("=end"), modules);
        const auto bytes = std::as_bytes(std::span(text));
        program_.put(name, {bytes.begin(), bytes.end()});
        const Ran ran =
            program_.run({"convert", program_.path(name), "-o", name + ".beamdump", "--force"});
        EXPECT_EQ(ran.status, 0) << ran.err;
    };
    put("one.dump", "=mod:lists\nCurrent size: 100\n=mod:gone\nCurrent size: 7\n");
    put("two.dump", "=mod:'Odd'\nCurrent size: 30\n=mod:lists\nCurrent size: 140\nOld size: 100\n");
    const auto result = diff({"one.dump.beamdump", "two.dump.beamdump"});
    const auto& modules = section(result, "modules");
    EXPECT_THAT(modules.has, ElementsAre(true, true));
    EXPECT_EQ(modules.common, 1U);
    EXPECT_EQ(modules.grown, 1U);
    EXPECT_EQ(modules.appeared, 2U);  // Odd, and lists (old)
    EXPECT_EQ(modules.gone, 1U);
}

TEST_F(Diff, TheHeapOfOneProcess) {
    const auto inputs = open({"sample.beamdump", "later.beamdump"});
    const auto result = expect_value(query::diff_heaps(inputs, "alpha", {}));
    ASSERT_EQ(result.process.size(), 2U);
    EXPECT_EQ(result.process[1]->pid, "<0.1.0>");
    EXPECT_EQ(result.memory_bytes, 9000U);
    EXPECT_TRUE(section(result, "heap_roots").compared());
    EXPECT_EQ(section(result, "heap_roots").grown, 0U);
    EXPECT_FALSE(query::diff_heaps(inputs, "nobody", {}));
}

TEST_F(Diff, ExitCodeSaysWhetherSomethingGrew) {
    EXPECT_EQ(program_.run({"diff", "sample.beamdump", "sample.beamdump", "--exit-code"}).status,
              0);
    const Ran grown = program_.run({"diff", "later.beamdump", "sample.beamdump"});
    EXPECT_EQ(grown.status, 0);
}

TEST_F(Diff, TextNamesTheGrowth) {
    const Ran ran = program_.run({"diff", "sample.beamdump", "later.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("(2 min 0 s later)"));
    EXPECT_THAT(ran.out, HasSubstr("\nProcesses: 2 started, 3 exited, 1 grew, 0 shrank"));
    EXPECT_THAT(ran.out, HasSubstr("+3.9 KiB"));
}

/// A persistent term of the key alpha, of so many words.
void add_term_of(SampleDump& dump, std::uint64_t words) {
    constexpr std::uint64_t kPlace = 0x70000;
    records::PackedRegions pack;
    auto& pair = *pack.add_region();
    pair.set_kind(static_cast<std::uint32_t>(format::RegionKind::kPersistentTerm));
    pair.set_address(kPlace);
    pair.set_total_words(3);
    for (const auto word : {tuple_header(2), atom_word(kAlphaAtom), kNil}) {
        pair.add_words(word);
    }
    records::PersistentTerms page;
    auto& ref = *page.mutable_directory()->add_packed_regions();
    ref.set_offset(dump.builder().append(format::RecordKind::kPackedRegions, pack));
    ref.set_count(1);
    ref.set_lowest_address(kPlace);
    ref.set_highest_address(kPlace + 24);
    page.set_binaries_before_offset(ref.offset());
    auto& term = *page.add_term();
    term.set_address(kPlace);
    term.set_words(words);
    page.set_last(true);
    page.set_counted(1);
    dump.builder().trailer().add_persistent_terms_offset(
        dump.builder().append(format::RecordKind::kPersistentTerms, page));
}

void add_sockets_of(SampleDump& dump, int closing) {
    records::Sockets sockets;
    for (int at = 0; at < closing; ++at) {
        auto& socket = *sockets.add_socket();
        socket.set_protocol("tcp");
        socket.set_state("CLOSE_WAIT");
        socket.set_receive_queue_bytes(100);
        socket.set_send_queue_bytes(1);
    }
    sockets.add_socket()->set_protocol("udp");
    dump.builder().trailer().add_sockets_offset(
        dump.builder().append(format::RecordKind::kSockets, sockets));
}

class DiffOfARestart : public Diff {
  protected:
    DiffOfARestart() {
        program_.put("first.beamdump", dump_of(0, {1, 21, 22}, 100, 2));
        program_.put("second.beamdump", dump_of(60'000'000, {17, 22, 23, 24}, 150, 5));
    }
    /// The first of the processes is registered as alpha.
    static std::vector<std::byte> dump_of(std::int64_t after_us,
                                          const std::vector<std::uint64_t>& numbers,
                                          std::uint64_t words, int sockets) {
        SampleDump dump(1'700'000'100'000'000 + after_us);
        for (const std::uint64_t number : numbers) {
            SampleProcess process;
            process.number = number;
            process.initial_arity = number < 20 ? 0 : 1;
            if (number == numbers.front()) {
                process.name = kAlphaAtom;
            }
            dump.add(process);
        }
        add_term_of(dump, words);
        add_sockets_of(dump, sockets);
        return dump.finish();
    }
};

TEST_F(DiffOfARestart, ANameOfAnotherPidIsARestart) {
    const auto result = diff({"first.beamdump", "second.beamdump"});
    const auto& names = section(result, "registered_names");
    EXPECT_EQ(names.changed, 1U);
    EXPECT_EQ(names.common, 1U);
    ASSERT_EQ(names.changed_most.size(), 1U);
    EXPECT_EQ(names.changed_most[0].title, "alpha (<0.1.0>, now <0.17.0>)");
    const Ran ran = program_.run({"diff", "first.beamdump", "second.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\nRegistered names: 0 new, 0 gone, 1 restarted\n"
                                   "  restarted: alpha (<0.1.0>, now <0.17.0>)\n"));
    const Ran json = program_.run({"diff", "first.beamdump", "second.beamdump", "--json"});
    EXPECT_THAT(json.out, HasSubstr("\"pid_before\": \"<0.1.0>\""));
    EXPECT_THAT(json.out, HasSubstr("\"pid_after\": \"<0.17.0>\""));
    const Ran same = program_.run({"diff", "first.beamdump", "first.beamdump"});
    EXPECT_THAT(same.out, HasSubstr("\nRegistered names: 0 new, 0 gone\n"));
}

TEST_F(DiffOfARestart, StartedAndExitedProcessesAreCountedByInitialCall) {
    const auto result = diff({"first.beamdump", "second.beamdump"});
    const auto& processes = section(result, "processes");
    std::vector<std::string> lines;
    for (const auto& of : processes.turnover) {
        lines.push_back(fmt::format("{} {} {}", of.container, of.appeared, of.gone));
    }
    EXPECT_THAT(lines, ElementsAre("demo:loop/1 2 1", "demo:loop/0 1 1"));
    const Ran ran = program_.run({"diff", "first.beamdump", "second.beamdump", "--limit", "1"});
    EXPECT_THAT(ran.out, HasSubstr("  started and exited by initial call:\n"
                                   "    demo:loop/1  2 started, 1 exited\n"
                                   "    and 1 more\n"));
    // Across runs a process is not known to be another one.
    program_.put("other.beamdump", [] {
        SampleDump dump(1'700'000'220'000'000, {.os_pid = 4712});
        dump.add(alpha_process());
        return dump.finish();
    }());
    const auto other = diff({"first.beamdump", "other.beamdump"});
    EXPECT_TRUE(section(other, "processes").turnover.empty());
    EXPECT_FALSE(section(other, "registered_names").compared());
}

TEST_F(DiffOfARestart, PersistentTermsAndSocketsAreCompared) {
    const auto result = diff({"first.beamdump", "second.beamdump"});
    const auto& terms = section(result, "persistent_terms");
    EXPECT_THAT(keys(terms.grown_most), ElementsAre("alpha"));
    EXPECT_EQ(terms.grown_most[0].of(query::Measure::kSize)->change, 400);
    const auto& sockets = section(result, "sockets");
    EXPECT_THAT(keys(sockets.grown_most), ElementsAre("tcp CLOSE_WAIT"));
    EXPECT_EQ(sockets.grown_most[0].of(query::Measure::kMembers)->change, 3);
    EXPECT_EQ(sockets.grown_most[0].of(query::Measure::kSize)->change, 303);
    // Where one dump has neither.
    const auto with_none = diff({"first.beamdump", "later.beamdump"});
    EXPECT_FALSE(section(with_none, "persistent_terms").compared());
    // An export has the sockets.
    const Ran exported =
        program_.run({"export", "ndjson", "second.beamdump", "-o", program_.path("e.ndjson")});
    ASSERT_EQ(exported.status, 0) << exported.err;
    const Ran ran = program_.run({"diff", "first.beamdump", program_.path("e.ndjson")});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tcp CLOSE_WAIT"));
    EXPECT_THAT(ran.out, HasSubstr("Persistent terms: not compared, dump 2 lacks it"));
}

}  // namespace
}  // namespace beamdump::test
