#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/write/compression_pool.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>

namespace beamdump {
namespace {

std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

CompressionPool::CompressionPool(const Options& options, ByteSink& sink, SeekTableBuilder& table)
    : sink_(sink), table_(table), buffers_(options.buffers), slots_(options.buffers) {
    free_.reserve(buffers_.size());
    for (FrameBuffer& buffer : buffers_) {
        buffer.content.resize(options.frame_bytes);
        buffer.compressed.resize(compressed_bound(options.frame_bytes));
        free_.push_back(&buffer);
    }
}

Result<std::unique_ptr<CompressionPool>> CompressionPool::create(const Options& options,
                                                                 ByteSink& sink,
                                                                 SeekTableBuilder& table) {
    std::unique_ptr<CompressionPool> pool;
    try {
        pool.reset(new CompressionPool(options, sink, table));
    } catch (const std::bad_alloc& failure) {
        return std::unexpected(error_of(failure));
    }
    for (unsigned i = 0; i < options.threads; ++i) {
        ASSIGN_OR_RETURN(auto compressor, FrameCompressor::create(options.level, options.dump_id,
                                                                  options.frame_bytes));
        pool->compressors_.push_back(std::move(compressor));
    }
    try {
        for (FrameCompressor& compressor : pool->compressors_) {
            pool->threads_.emplace_back([&pool = *pool, &compressor] { pool.run(compressor); });
        }
    } catch (const std::system_error&) {
        // Continue with the started threads; without any, submit() compresses.
        while (pool->compressors_.size() > std::max<std::size_t>(pool->threads_.size(), 1)) {
            pool->compressors_.pop_back();
        }
    }
    return pool;
}

CompressionPool::~CompressionPool() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
}

Result<FrameBuffer*> CompressionPool::acquire() {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return error_ || !free_.empty(); };
    if (!ready()) {
        waiting_since_ = now().count();
        progress_.wait(lock, ready);
        waiting_since_ = 0;
    }
    if (error_) {
        return std::unexpected(*error_);
    }
    FrameBuffer* buffer = free_.back();
    free_.pop_back();
    return buffer;
}

void CompressionPool::submit(FrameBuffer& frame) {
    std::unique_lock lock(mutex_);
    slot_of(submitted_) = {.frame = &frame, .compressed = false};
    ++submitted_;
    if (threads_.empty()) {
        take_one(compressors_.front(), lock);
    }
    lock.unlock();
    work_.notify_one();
}

Result<void> CompressionPool::drain() {
    std::unique_lock lock(mutex_);
    progress_.wait(lock, [&] { return error_ || next_sequence_ == submitted_; });
    if (error_) {
        // Wait for threads inside the sink, which the caller may use from here on.
        progress_.wait(lock, [&] { return !writing_; });
        return std::unexpected(*error_);
    }
    return {};
}

std::chrono::nanoseconds CompressionPool::waiting() const {
    const auto waiting = waiting_since_.load();
    const auto writing = writing_since_.load();
    return waiting == 0 || writing == 0
               ? std::chrono::nanoseconds(0)
               : now() - std::chrono::nanoseconds(std::max(waiting, writing));
}

std::uint64_t CompressionPool::written_bytes() const {
    const std::scoped_lock lock(mutex_);
    return written_bytes_;
}

void CompressionPool::run(FrameCompressor& compressor) {
    std::unique_lock lock(mutex_);
    while (true) {
        work_.wait(lock, [&] { return stopping_ || next_to_compress_ < submitted_; });
        if (next_to_compress_ == submitted_) {
            return;
        }
        take_one(compressor, lock);
    }
}

void CompressionPool::take_one(FrameCompressor& compressor, std::unique_lock<std::mutex>& lock) {
    Slot& slot = slot_of(next_to_compress_++);
    lock.unlock();
    const auto done = compressor.compress(*slot.frame);
    lock.lock();
    if (!done && !error_) {
        error_ = done.error();
    }
    slot.compressed = true;
    write_in_order(lock);
}

void CompressionPool::write_in_order(std::unique_lock<std::mutex>& lock) {
    if (writing_) {
        return;  // that thread takes this frame too when its turn comes
    }
    writing_ = true;
    while (next_sequence_ < next_to_compress_ && slot_of(next_sequence_).compressed) {
        FrameBuffer* frame = slot_of(next_sequence_).frame;
        if (!error_) {
            lock.unlock();
            writing_since_ = now().count();
            const auto written = write(*frame);
            writing_since_ = 0;
            lock.lock();
            if (written) {
                written_bytes_ += frame->compressed_bytes;
            } else {
                error_ = written.error();
            }
        }
        ++next_sequence_;
        free_.push_back(frame);
        progress_.notify_all();
    }
    writing_ = false;
    progress_.notify_all();
}

Result<void> CompressionPool::write(const FrameBuffer& frame) try {
    const auto bytes = std::span(frame.compressed).first(frame.compressed_bytes);
    // zstd ends a frame with the low 32 bits of its content's XXH64, which the seek table needs.
    const auto checksum = load_known<std::uint32_t>(bytes, bytes.size() - sizeof(std::uint32_t));
    const auto added = table_.add(static_cast<std::uint32_t>(bytes.size()),
                                  static_cast<std::uint32_t>(frame.used), checksum);
    return added ? sink_.write(bytes) : added;
} catch (const std::bad_alloc& failure) {
    return std::unexpected(error_of(failure));
}

}  // namespace beamdump
