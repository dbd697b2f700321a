#include "rules/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::watch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ConfigTest, AWholeFile) {
    const auto config = parse_config(R"(
node = "rabbit@host"
interval = "2s"
scan_interval = "1m"
folder = "/var/lib/beamdump"
capture = ["--redact", "structure"]

[limits]
most = 2
window = "12h"
distance = "30m"
keep = 5
bytes = "20GiB"
free = "5GiB"

[[rule]]
of = "memory"
above = "90%"
for = "10s"
rearm = "80%"

[[rule]]
name = "leak"
of = "total"
grows = "500MiB"
per = "10m"
capture = ["--profile", "5s"]
command = "upload $BEAMDUMP_FILE"

[[rule]]
of = "mailbox"
above = 100000
dump = false
)",
                                     "watch.toml");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_THAT(config->nodes, testing::ElementsAre("rabbit@host"));
    EXPECT_EQ(config->interval, seconds(2));
    EXPECT_EQ(config->scan_interval, minutes(1));
    EXPECT_EQ(config->folder, "/var/lib/beamdump");
    EXPECT_THAT(config->capture, testing::ElementsAre("--redact", "structure"));
    EXPECT_EQ(config->limits.most, 2);
    EXPECT_EQ(config->limits.window, hours(12));
    EXPECT_EQ(config->limits.distance, minutes(30));
    EXPECT_EQ(config->limits.keep, 5);
    EXPECT_EQ(config->limits.bytes, std::uint64_t{20} << 30U);
    EXPECT_EQ(config->limits.free_bytes, std::uint64_t{5} << 30U);
    ASSERT_EQ(config->rules.size(), 3);
    const auto& memory = config->rules[0];
    EXPECT_EQ(memory.name, "memory");
    EXPECT_TRUE(memory.above.share);
    EXPECT_EQ(memory.above.number, 90);
    EXPECT_EQ(memory.hold, seconds(10));
    ASSERT_TRUE(memory.rearm);
    EXPECT_EQ(memory.rearm->number, 80);
    const auto& leak = config->rules[1];
    EXPECT_EQ(leak.name, "leak");
    EXPECT_EQ(leak.of, Quantity::kTotal);
    EXPECT_EQ(leak.per, minutes(10));
    EXPECT_EQ(leak.above.number, 500.0 * (1 << 20));
    EXPECT_EQ(leak.command, "upload $BEAMDUMP_FILE");
    EXPECT_FALSE(config->rules[2].dump);
    EXPECT_EQ(config->rules[2].above.number, 100'000);
}

TEST(ConfigTest, RulesAboutTheStartAndTheEndOfANode) {
    const auto config = parse_config(R"(
[[rule]]
on = "start"
capture = ["--no-heaps"]
[[rule]]
on = "end"
name = "gone"
command = "alarm $BEAMDUMP_NODE"
[[rule]]
of = "held"
above = "30s"
)",
                                     "w");
    ASSERT_TRUE(config) << config.error().message;
    ASSERT_EQ(config->rules.size(), 3);
    EXPECT_EQ(config->rules[0].on, Rule::On::kStart);
    EXPECT_EQ(config->rules[0].name, "start");
    EXPECT_TRUE(config->rules[0].dump);
    EXPECT_EQ(config->rules[1].on, Rule::On::kEnd);
    EXPECT_EQ(config->rules[1].name, "gone");
    EXPECT_FALSE(config->rules[1].dump);
    EXPECT_EQ(config->rules[2].above.number, 30);
    EXPECT_FALSE(RuleState(config->rules[0]).feed(seconds(1), {{Quantity::kMemory, {1e9}}}));
}

TEST(ConfigTest, AProfileIsANumberOrOff) {
    const auto rate = [](std::string_view value) {
        return parse_config(
                   fmt::format("record_profile = {}\n[[rule]]\nof = \"atoms\"\nabove = 9", value),
                   "w")
            .value()
            .record_profile;
    };
    EXPECT_EQ(rate("10"), 10U);
    EXPECT_EQ(rate("\"100\""), 100U);
    EXPECT_EQ(rate("\"off\""), 0U);
}

TEST(ConfigTest, ACgroupIsAPathBelowTheMount) {
    const auto config = parse_config(R"(
cgroup = "/agents/beamdump"
[[rule]]
of = "atoms"
above = "90%"
)",
                                     "w");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->cgroup, "/agents/beamdump");
    for (const std::string_view text : {"", "/", "..", "a/../b", "a/./b"}) {
        EXPECT_FALSE(is_cgroup_name(text)) << text;
        const auto refused = parse_config(fmt::format("cgroup = \"{}\"", text), "w");
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("such as beamdump or /agents/beamdump"));
    }
}

TEST(ConfigTest, CrashDumps) {
    const auto config = parse_config(R"(
[crash_dumps]
take = "redact"
policy = "text"
remove = true
command = "true"
[[rule]]
of = "atoms"
above = "90%"
)",
                                     "w");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->crash_dumps.take, CrashDumps::Take::kRedact);
    EXPECT_EQ(config->crash_dumps.policy, "text");
    EXPECT_TRUE(config->crash_dumps.remove);
    EXPECT_EQ(config->crash_dumps.command, "true");
}

TEST(ConfigTest, AnErrorNamesItsLineAndWhatIsAllowed) {
    const std::pair<std::string_view, std::string_view> wrong[] = {
        {"interval = \"soon\"\n", "w:1: interval is \"soon\", such as \"10s\""},
        {"\n\nfolders = \"x\"\n",
         "w:3: the file has no key \"folders\"; it has all, capture, cgroup, crash_dumps, folder"},
        {"\nrecord_profile = 101\n",
         "w:2: record_profile is \"101\", such as 10, at most 100, or \"off\""},
        {"[limits]\nkeep = 0\n", "w:2: keep is a whole number from 1 on"},
        {"[limits]\nbytes = \"many\"\n", "w:2: bytes is \"many\", such as \"20GiB\""},
        {"limits = 3\n", "w:1: limits is a table"},
        {"rule = 3\n", "w:1: rule is a list of tables"},
        {"[[rule]]\nabove = 3\n", "w:1: a rule has no key \"of\""},
        {"[[rule]]\nof = \"memroy\"\nabove = \"90%\"\n",
         "w:2: of is \"memroy\", such as memory, resident"},
        {"[[rule]]\nof = \"memory\"\n", "one of the keys \"above\" and \"grows\""},
        {"[[rule]]\nof = \"memory\"\nabove = \"90%\"\ngrows = \"1M\"\n",
         "one of the keys \"above\" and \"grows\""},
        {"[[rule]]\nof = \"memory\"\ngrows = \"1M\"\n", "\"grows\" needs \"per\""},
        {"[[rule]]\nof = \"memory\"\nabove = \"1M\"\nper = \"1m\"\n", "\"per\" belongs to"},
        {"[[rule]]\nof = \"memory\"\nabove = \"lots\"\n",
         "w:3: \"lots\" is no threshold of memory: 2GiB"},
        {"[[rule]]\nof = \"memory\"\nabove = \"90%\"\ncapture = \"--top\"\n",
         "w:4: capture is a list of texts"},
        {"[[rule]]\nof = \"memory\"\nabove = \"90%\"\ndump = 1\n", "w:4: dump is true or false"},
        {"[crash_dumps]\ntake = \"keep\"\n", "w:2: take is \"keep\", such as \"convert\""},
        {"[[rule]]\non = \"stop\"\n", "w:2: on is \"stop\", such as \"start\" or \"end\""},
        {"[[rule]]\non = \"end\"\n", "w:1: a rule on = \"end\" has a \"command\""},
        {"[[rule]]\non = \"start\"\nabove = 3\n",
         "w:3: a [[rule]] has no key \"above\"; it has capture, command, dump, name, on"},
        {"[[rule]]\nof = \"stalled\"\nabove = 30\n",
         "w:3: \"30\" is no threshold of stalled: a time such as 30s"},
        {"node = \"a\"\nall = true\n", "w:2: all = true stands without node and nodes"},
        {"[[rule]]\nof = \"memory\"\nabove = \"90%\"\n[[rule]]\nof = \"memory\"\nabove = \"95%\"\n",
         "two rules are named \"memory\""},
        {"interval = \"1s\"\n", "w has no [[rule]]"},
        {"interval = \n", "w:1: this is not TOML"},
        {"[[rule\n", "w:1: this is not TOML"},
    };
    for (const auto& [text, why] : wrong) {
        const auto refused = parse_config(text, "w");
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
        EXPECT_THAT(refused.error().message, HasSubstr(std::string(why))) << text;
        EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("\n"))) << text;
    }
}

TEST(ConfigTest, AFileThatIsNotThere) {
    const auto refused = read_config("/nonexistent/watch.toml");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("/nonexistent/watch.toml"));
}

}  // namespace
}  // namespace beamdump::watch
