// The facts of a crash dump kept in a dump, read back, and extended.

#include "converted.h"
#include "support/memory_file.h"
#include "support/memory_sink.h"

#include <libdump/crash/cache/facts_dump.h>
#include <libdump/crash/cache/text_key.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace beamdump::crash::test {
namespace {

std::string text() {
    return with_messages(27, kEveryKind, kHeap, kBinary);
}

std::vector<std::byte> facts_of(const TextFile& file) {
    const auto crash = CrashDump::open(file.path(), {});
    const auto content = std::make_shared<beamdump::test::SinkContent>();
    const auto done =
        convert_facts(*crash, std::make_unique<beamdump::test::MemorySink>(content), "key");
    EXPECT_TRUE(done) << done.error().message;
    return content->bytes;
}

TEST(KeptFacts, HaveThePlacesOfAllSections) {
    const TextFile file(text());
    const auto whole = CrashDump::open(file.path(), {});
    const beamdump::test::MemoryFile kept(facts_of(file));
    const auto dump = Dump::open(kept.path());
    ASSERT_TRUE(dump);
    const auto index = read_index(**dump);
    ASSERT_TRUE(index);
    EXPECT_EQ(index->front().key(), "key");
    const auto restored = CrashDump::restore(file.source(), std::make_unique<Budget>(), *index);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->header().slogan, "boom");
    EXPECT_EQ(restored->node_name(), whole->node_name());
    ASSERT_NE(restored->binary(0x7FCA00009000), nullptr);
    EXPECT_EQ(restored->binary(0x7FCA00009000)->begin, whole->binary(0x7FCA00009000)->begin);
    ConvertChoice choice;
    choice.heaps = ConvertChoice::Heaps::kOne;
    choice.lazily_from = 0;
    choice.process = "my server";
    const auto facts = read_facts(**dump, *restored, choice);
    ASSERT_TRUE(facts) << facts.error().message;
    ASSERT_TRUE(facts->process);
    const auto& sections = whole->processes().front();
    EXPECT_EQ(facts->process->sections.heap->begin, sections.heap->begin);
    EXPECT_EQ(facts->process->sections.messages->end, sections.messages->end);
    EXPECT_FALSE(facts->process->sections.dictionary);
    choice.process = "nobody";
    EXPECT_FALSE(read_facts(**dump, *restored, choice)->process);
}

TEST(KeptFacts, HaveWhatBelongsToTheWholeText) {
    const auto first = "log\n" + text() + "=mod:elixir\n=end\n";
    const TextFile file(first + "=erl_crash_dump:0.5\n=mod:lists\n=end\n");
    const auto whole = CrashDump::open(file.path(), {});
    ASSERT_TRUE(whole) << whole.error().message;
    ASSERT_EQ(whole->notes().size(), 2U);
    EXPECT_TRUE(whole->notes().back().contains(fmt::format("from byte {} on", first.size())));
    EXPECT_TRUE(whole->has_elixir());
    const beamdump::test::MemoryFile kept(facts_of(file));
    const auto dump = Dump::open(kept.path());
    ASSERT_TRUE(dump);
    auto index = *read_index(**dump);
    const auto restored = CrashDump::restore(file.source(), std::make_unique<Budget>(), index);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->notes(), whole->notes());
    EXPECT_TRUE(restored->has_elixir());
    index.front().set_next_dump(~std::uint64_t{0});
    EXPECT_FALSE(CrashDump::restore(file.source(), std::make_unique<Budget>(), index));
}

TEST(KeptFacts, AreRefusedForAShorterText) {
    const TextFile file(text());
    const beamdump::test::MemoryFile kept(facts_of(file));
    const auto dump = Dump::open(kept.path());
    const auto index = read_index(**dump);
    const TextFile cut(text().substr(0, text().size() / 2));
    const auto restored = CrashDump::restore(cut.source(), std::make_unique<Budget>(), *index);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().code, ErrorCode::kCorrupt);
}

TEST(KeptFacts, AreRefusedIfBinariesAreNotInOrderOrMissing) {
    const TextFile file(text());
    const beamdump::test::MemoryFile kept(facts_of(file));
    const auto dump = Dump::open(kept.path());
    const auto index = *read_index(**dump);
    const auto refused = [&file](records::CrashIndex changed) {
        return !CrashDump::restore(file.source(), std::make_unique<Budget>(),
                                   std::span(&changed, 1));
    };
    EXPECT_FALSE(refused(index.front()));
    auto changed = index.front();
    changed.set_binaries(2);
    EXPECT_TRUE(refused(changed));
    changed.add_binary_address(1);
    changed.add_binary_begin(0);
    changed.add_binary_bytes(0);
    EXPECT_TRUE(refused(changed));
    changed = index.front();
    changed.add_binary_address(1);
    EXPECT_TRUE(refused(changed));
    changed = index.front();
    changed.mutable_literals()->set_begin(~std::uint64_t{0});
    EXPECT_TRUE(refused(changed));
}

/// The samples find a change of the text that no time tells.
TEST(KeptFacts, KeyDependsOnSamplesAndTimes) {
    const TextFile file(text());
    const auto identity = *file.source().identity();
    const auto key = key_of(file.source(), identity);
    ASSERT_TRUE(key);
    EXPECT_EQ(key_of(file.source(), identity)->whole, key->whole);
    auto changed = text();
    changed.back() = 'x';
    const TextFile other(changed);
    EXPECT_NE(key_of(other.source(), identity)->whole, key->whole);
    EXPECT_EQ(key_of(other.source(), identity)->file, key->file);
    for (auto number : {&TextSource::Identity::modified_ns, &TextSource::Identity::changed_ns}) {
        auto later = identity;
        ++(later.*number);
        EXPECT_NE(key_of(file.source(), later)->whole, key->whole);
    }
    auto moved = identity;
    ++moved.inode;
    EXPECT_NE(key_of(file.source(), moved)->file, key->file);
    EXPECT_FALSE(has_settled(identity));
    constexpr std::int64_t kThreeSeconds = 3'000'000'000;
    auto old = identity;
    old.modified_ns -= kThreeSeconds;
    EXPECT_FALSE(has_settled(old));
    old.changed_ns -= kThreeSeconds;
    EXPECT_TRUE(has_settled(old));
}

}  // namespace
}  // namespace beamdump::crash::test
