#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "support/memory_sink.h"

#include <libdump/read/dump_reader.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace beamdump::test {
namespace {

using format::RecordKind;
using ::testing::HasSubstr;

records::Epoch epoch(std::uint32_t number) {
    records::Epoch record;
    record.set_number(number);
    return record;
}

format::RegionHeader region(std::uint64_t words) {
    return {.owner_kind = format::OwnerKind::kProcess,
            .region_kind = format::RegionKind::kHeap,
            .term_scheme = format::TermScheme::kOtp25,
            .address = kHeapBase,
            .total = words};
}

/// Fails once so many bytes were written.
class FailingSink final : public ByteSink {
  public:
    explicit FailingSink(std::size_t room) : room_(room) {}
    Result<void> write(std::span<const std::byte> bytes) override {
        if (bytes.size() > room_) {
            return fail(ErrorCode::kNoSpace, "the test's disk is full");
        }
        room_ -= bytes.size();
        return {};
    }
    Result<void> commit() override { return {}; }

  private:
    std::size_t room_;
};

/// Lets nothing through until it is opened.
struct Gate {
    std::atomic<bool> open = false;
};
class GatedSink final : public ByteSink {
  public:
    explicit GatedSink(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
    Result<void> write(std::span<const std::byte>) override {
        if (++writes_ > 1) {  // the header passes
            gate_->open.wait(false);
        }
        return {};
    }
    Result<void> commit() override { return {}; }

  private:
    std::shared_ptr<Gate> gate_;
    int writes_ = 0;
};

TEST(DumpWriter, RefusesWhatMakesNoSense) {
    const auto refused = [](const DumpWriterOptions& options) {
        const auto writer = DumpWriter::create(std::make_unique<FailingSink>(1U << 20U), options);
        return !writer && writer.error().code == ErrorCode::kUsage;
    };
    EXPECT_TRUE(refused({.level = 1000}));
    EXPECT_TRUE(refused({.threads = 0}));
    EXPECT_TRUE(refused({.threads = 100000}));
    EXPECT_TRUE(refused({.frame_bytes = 8}));
    EXPECT_TRUE(refused({.frame_bytes = 4097}));
    EXPECT_TRUE(refused({.frame_bytes = format::kMaxFrameBytes + 8}));
    EXPECT_FALSE(refused({.level = 19, .threads = 4, .frame_bytes = format::kMinFrameBytes}));
}

TEST(DumpWriter, ARecordLargerThanAFrameIsRefusedAndTheStreamGoesOn) {
    DumpBuilder builder({.frame_bytes = 1024});
    records::Atoms atoms;
    atoms.add_text(std::string(builder.writer().max_record_bytes(), 'a'));
    const auto refused = builder.writer().append(RecordKind::kAtoms, atoms);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
    const std::size_t overhead = atoms.ByteSizeLong() - builder.writer().max_record_bytes();
    atoms.mutable_text(0)->resize(builder.writer().max_record_bytes() - overhead);
    ASSERT_EQ(atoms.ByteSizeLong(), builder.writer().max_record_bytes());
    const std::uint64_t offset = builder.append(RecordKind::kAtoms, atoms);
    const MemoryFile file(builder.finish());
    auto reader = expect_value(DumpReader::open(file.path()));
    const auto got = expect_value(reader.message_at<records::Atoms>(offset, RecordKind::kAtoms));
    EXPECT_EQ(got.text(0), atoms.text(0));
}

TEST(DumpWriter, ATrailerMayBeLargerThanAFrame) {
    DumpBuilder builder({.frame_bytes = 1024});
    for (int i = 0; i < 5000; ++i) {
        builder.trailer().add_warning("warning number " + std::to_string(i));
    }
    builder.append(RecordKind::kEpoch, epoch(1));
    const MemoryFile file(builder.finish());
    auto reader = expect_value(DumpReader::open(file.path()));
    EXPECT_FALSE(reader.damage());
    EXPECT_EQ(reader.trailer().warning_size(), 5000);
}

TEST(DumpWriter, AShortFillEndsARegion) {
    DumpBuilder builder({.frame_bytes = 1024});
    const std::uint64_t piece = format::stripe_data_bytes(1024) / 8;
    for (const std::uint64_t here : {std::uint64_t{0}, std::uint64_t{1}, piece - 1, piece,
                                     piece + 1, 2 * piece, 2 * piece + 5}) {
        SCOPED_TRACE(here);
        std::uint64_t calls_after_end = 0;
        const std::vector<std::uint64_t> words(here, 42);
        const auto fill = fill_from(words);
        const auto placement = expect_value(builder.writer().append_region(
            region(10 * piece),
            [&](std::uint64_t first, std::span<std::byte> bytes) -> Result<std::uint64_t> {
                calls_after_end += first > here ? 1 : 0;
                return fill(first, bytes);
            }));
        EXPECT_EQ(placement.here, here);
        EXPECT_EQ(placement.striped, here > piece);
        EXPECT_EQ(calls_after_end, 0U);
        builder.append(RecordKind::kEpoch, epoch(1));
    }
    const MemoryFile file(builder.finish());
    auto reader = expect_value(DumpReader::open(file.path()));
    std::multiset<std::uint64_t> counts;
    for (auto record = expect_value(reader.first()); record;
         record = expect_value(reader.next(*record))) {
        if (record->kind == RecordKind::kRegion) {
            format::RegionHeader header;
            std::memcpy(&header, record->payload.data(), sizeof(header));
            EXPECT_EQ(header.total, 10 * piece);
            EXPECT_EQ(record->payload.size(), sizeof(header) + header.count * 8);
            counts.insert(header.count);
        }
    }
    EXPECT_EQ(counts, (std::multiset<std::uint64_t>{0, 1, piece - 1, piece, piece, 1, piece, piece,
                                                    piece, piece, 5}));
}

TEST(DumpWriter, AFailedFillLeavesTheStreamWellFormed) {
    DumpBuilder builder({.frame_bytes = 1024});
    const std::uint64_t piece = format::stripe_data_bytes(1024) / 8;
    for (const std::uint64_t good_pieces : {0U, 2U}) {
        const auto failed = builder.writer().append_region(
            region(5 * piece),
            [&](std::uint64_t first, std::span<std::byte> bytes) -> Result<std::uint64_t> {
                std::memset(bytes.data(), 0xee, bytes.size());
                if (first == good_pieces * piece) {
                    return fail(ErrorCode::kUnmapped, "nothing is there");
                }
                return bytes.size() / 8;
            });
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, ErrorCode::kUnmapped);
        builder.append(RecordKind::kEpoch, epoch(1));
    }
    const MemoryFile file(builder.finish());
    auto reader = expect_value(DumpReader::open(file.path()));
    std::vector<RecordKind> kinds;
    for (auto record = expect_value(reader.first()); record;
         record = expect_value(reader.next(*record))) {
        kinds.push_back(record->kind);
    }
    EXPECT_EQ(kinds, (std::vector{RecordKind::kEpoch, RecordKind::kRegion, RecordKind::kRegion,
                                  RecordKind::kEpoch, RecordKind::kTrailer}));
}

TEST(DumpWriter, PaddingIsZeroWhateverABufferHeldBefore) {
    DumpBuilder builder({.threads = 1, .frame_bytes = 1024, .buffers = 2});
    for (std::uint32_t i = 0; i < 200; ++i) {
        format::RegionHeader bytes = region(0);
        bytes.unit = format::RegionUnit::kBytes;
        bytes.total = 301 + i % 7;
        expect_value(builder.writer().append_region(
            bytes, [](std::uint64_t, std::span<std::byte> into) -> Result<std::uint64_t> {
                std::ranges::fill(into, std::byte{0xff});
                return into.size();
            }));
    }
    const MemoryFile file(builder.finish());
    auto reader = expect_value(DumpReader::open(file.path()));
    for (auto record = expect_value(reader.first()); record;
         record = expect_value(reader.next(*record))) {
        const std::uint64_t end = record->offset + 8 + record->payload.size();
        std::vector<std::byte> padding((8 - end % 8) % 8);
        expect_value(reader.read(end, padding));
        EXPECT_TRUE(std::ranges::all_of(padding, [](std::byte b) { return b == std::byte{0}; }));
    }
}

TEST(DumpWriter, AnErrorOfTheSinkSticks) {
    auto writer = expect_value(DumpWriter::create(std::make_unique<FailingSink>(3000),
                                                  {.threads = 2, .frame_bytes = 1024}));
    std::vector<std::uint64_t> noise(100);
    std::uint64_t state = 1;
    for (std::uint64_t& word : noise) {
        word = state *= 6364136223846793005ULL;
    }
    Result<DumpWriter::Placement> placed;
    for (int i = 0; i < 100 && placed; ++i) {
        placed = writer.append_region(region(noise.size()), fill_from(noise));
    }
    ASSERT_FALSE(placed);
    EXPECT_EQ(placed.error().code, ErrorCode::kNoSpace);
    EXPECT_EQ(writer.append(RecordKind::kEpoch, epoch(1)).error().code, ErrorCode::kNoSpace);
    const auto finished = writer.finish({});
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().message, "the test's disk is full");
}

TEST(DumpWriter, AnErrorOfTheSinkAtTheEndIsNotLost) {
    auto writer = expect_value(DumpWriter::create(std::make_unique<FailingSink>(100),
                                                  {.threads = 2, .frame_bytes = 1024}));
    expect_value(writer.append(RecordKind::kEpoch, epoch(1)));
    EXPECT_EQ(writer.finish({}).error().code, ErrorCode::kNoSpace);
}

TEST(DumpWriter, NothingCanBeAppendedOnceFinished) {
    auto writer = expect_value(
        DumpWriter::create(std::make_unique<FailingSink>(1U << 20U), {.frame_bytes = 1024}));
    const auto stats = expect_value(writer.finish({}));
    EXPECT_EQ(stats.frames, 1U);
    EXPECT_EQ(writer.append(RecordKind::kEpoch, epoch(1)).error().code, ErrorCode::kUsage);
    EXPECT_EQ(writer.finish({}).error().code, ErrorCode::kUsage);
}

TEST(DumpWriter, StatsAreThoseOfTheFile) {
    DumpBuilder builder({.threads = 3, .frame_bytes = 2048}, {.processes = 40});
    builder.add_all();
    const auto stats = expect_value(builder.writer().finish(builder.trailer()));
    const MemoryFile file(builder.abandon());
    auto reader = expect_value(DumpReader::open(file.path()));
    EXPECT_FALSE(reader.damage());
    EXPECT_EQ(stats.frames, reader.frames());
    EXPECT_EQ(stats.flat_bytes, reader.flat_bytes());
    EXPECT_EQ(stats.file_bytes, reader.file_bytes());
}

/// With the sink stuck, the caller gets as many frames as there are buffers, and then waits.
TEST(DumpWriter, FillsNoMoreThanItsBuffers) {
    constexpr unsigned kBuffers = 5;
    const auto gate = std::make_shared<Gate>();
    std::set<const void*> buffers;
    std::atomic<unsigned> frames_filled = 0;
    auto writer =
        expect_value(DumpWriter::create(std::make_unique<GatedSink>(gate),
                                        {.threads = 2, .frame_bytes = 1024, .buffers = kBuffers}));
    const std::uint64_t piece = format::stripe_data_bytes(1024) / 8;
    std::jthread caller([&] {
        expect_value(writer.append_region(
            region(40 * piece),
            [&](std::uint64_t, std::span<std::byte> bytes) -> Result<std::uint64_t> {
                buffers.insert(bytes.data());
                ++frames_filled;
                return bytes.size() / 8;
            }));
        expect_value(writer.finish({}));
    });
    while (frames_filled < kBuffers) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(frames_filled, kBuffers);
    gate->open = true;
    gate->open.notify_all();
    caller.join();
    EXPECT_EQ(frames_filled, 40U);
    EXPECT_LE(buffers.size(), kBuffers);
}

TEST(DumpWriter, WaitingForCompressionIsNotWaitingForTheSink) {
    using std::chrono::nanoseconds;
    using std::chrono::steady_clock;
    constexpr std::uint64_t kWords = std::uint64_t{1} << 17U;
    auto writer =
        DumpWriter::create(std::make_unique<MemorySink>(std::make_shared<SinkContent>()),
                           {.level = 19, .threads = 1, .frame_bytes = 1U << 18U, .buffers = 2});
    ASSERT_TRUE(writer) << writer.error().message;
    std::atomic<bool> done = false;
    nanoseconds longest{0};
    std::jthread watching([&] {
        while (!done) {
            longest = std::max(longest, writer->waiting());
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    });
    // Each of its frames takes long to compress, and no time to write.
    std::uint64_t state = 1;
    nanoseconds most{0};
    auto before = steady_clock::now();
    const auto fill = [&](std::uint64_t, std::span<std::byte> bytes) -> Result<std::uint64_t> {
        const auto now = steady_clock::now();
        most = std::max<nanoseconds>(most, now - before);
        for (auto& byte : bytes) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            byte = static_cast<std::byte>("abcdefgh"[state >> 61U]);
        }
        before = steady_clock::now();
        return bytes.size() / 8;
    };
    EXPECT_TRUE(writer->append_region(region(kWords), fill));
    done = true;
    watching.join();
    EXPECT_LT(longest, most / 2) << most.count() << " ns were waited for a buffer";
}

TEST(DumpWriter, DroppedWithoutFinishLeavesAnOpenableDump) {
    DumpBuilder builder({.threads = 3, .frame_bytes = 1024});
    builder.add_all();
    const MemoryFile file(builder.abandon());
    auto reader = expect_value(DumpReader::open(file.path()));
    ASSERT_TRUE(reader.damage());
    EXPECT_TRUE(reader.damage()->truncated);
    EXPECT_EQ(reader.damage()->lost_bytes, 0U);
    EXPECT_EQ(reader.recovered()->processes.size(), 4U);
}

TEST(DumpWriter, ThreadsAndLevelsGiveTheSameStream) {
    std::vector<std::uint64_t> sizes;
    for (const int level : {-3, 1, 3, 12}) {
        for (const unsigned threads : {1U, 4U}) {
            const MemoryFile file(DumpBuilder::whole(
                {.level = level, .threads = threads, .frame_bytes = 4096}, {.processes = 60}));
            auto reader = expect_value(DumpReader::open(file.path()));
            EXPECT_FALSE(reader.damage());
            sizes.push_back(reader.flat_bytes());
        }
    }
    EXPECT_THAT(sizes, ::testing::Each(sizes.front()));
}

}  // namespace
}  // namespace beamdump::test
