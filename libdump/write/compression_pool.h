#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>
#include <libdump/write/dump_writer.h>
#include <libdump/write/frame_builder.h>
#include <libdump/write/frame_compressor.h>
#include <libdump/write/seek_table_builder.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace beamdump {

/// Compresses frames on a fixed set of threads and writes them to the sink in order, from a fixed
/// set of buffers; acquire() waits for a free one. One caller thread. If fewer threads can be
/// started, it works with those, or in the caller's. The threads allocate nothing but the seek
/// table's entries.
class CompressionPool {
  public:
    struct Options {
        int level = 1;
        unsigned threads = 1;
        unsigned buffers = 2;
        std::uint32_t frame_bytes = 0;
        std::uint64_t dump_id = 0;
    };

    /// `sink` and `table` are non-owning, and used only by the pool until drain() returns.
    static Result<std::unique_ptr<CompressionPool>> create(const Options& options, ByteSink& sink,
                                                           SeekTableBuilder& table);
    CompressionPool(const CompressionPool&) = delete;
    CompressionPool& operator=(const CompressionPool&) = delete;
    /// Writes all submitted frames, then joins the threads.
    ~CompressionPool();

    /// A buffer to fill; waits for a free one. Fails after an error of the pool.
    Result<FrameBuffer*> acquire();
    /// Submits a filled buffer. Sequences must be 0, 1, 2...
    void submit(FrameBuffer& frame);
    /// Waits until all submitted frames are written.
    Result<void> drain();

    /// How long acquire() has been waiting for a write to the sink; 0: it is not waiting, or for
    /// compression only. From any thread.
    [[nodiscard]] std::chrono::nanoseconds waiting() const;

    /// Compressed bytes written to the sink so far.
    [[nodiscard]] std::uint64_t written_bytes() const;

  private:
    /// A frame in flight, from submit() until it is written.
    struct Slot {
        FrameBuffer* frame = nullptr;
        bool compressed = false;
    };

    CompressionPool(const Options& options, ByteSink& sink, SeekTableBuilder& table);
    void run(FrameCompressor& compressor);
    void take_one(FrameCompressor& compressor, std::unique_lock<std::mutex>& lock);
    void write_in_order(std::unique_lock<std::mutex>& lock);
    Result<void> write(const FrameBuffer& frame);
    /// The frame in flight with a sequence; there are never more than buffers.
    Slot& slot_of(std::uint64_t sequence) { return slots_[sequence % slots_.size()]; }

    ByteSink& sink_;
    SeekTableBuilder& table_;
    /// Since when a thread waits for a buffer, by the steady clock; 0: none does.
    std::atomic<std::chrono::nanoseconds::rep> waiting_since_ = 0;
    /// When the write to the sink that is under way began; 0: none is.
    std::atomic<std::chrono::nanoseconds::rep> writing_since_ = 0;
    std::vector<FrameBuffer> buffers_;
    std::vector<FrameCompressor> compressors_;

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable work_;
    std::condition_variable progress_;
    std::vector<FrameBuffer*> free_;
    std::vector<Slot> slots_;
    std::uint64_t next_sequence_ = 0;     // to be written next
    std::uint64_t next_to_compress_ = 0;  // by whichever thread is free
    std::uint64_t submitted_ = 0;
    std::uint64_t written_bytes_ = 0;
    bool writing_ = false;
    bool stopping_ = false;
    std::optional<Error> error_;

    std::vector<std::jthread> threads_;  // last: the first to be destroyed
};

}  // namespace beamdump
