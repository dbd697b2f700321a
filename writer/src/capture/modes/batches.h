#pragma once

#include "capture/session/session.h"

#include <libdump/base/error.h>
#include <libdump/base/return_if_error.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace beamdump::capture {

/// Hands over the used slots of the process table in batches: in the table's order, or, where the
/// output's size is limited, the smallest processes first, so that the largest are what is cut.
/// Reports progress before each batch. Memory: with a limit 24 bytes a process.
Result<void> for_each_batch(
    Session& session, const std::function<Result<void>(std::span<const beam::IdSlot>)>& visit);

/// Does jobs one after the other in a thread of its own, or, where none can be started, in the
/// caller's.
class ReadingThread {
  public:
    ReadingThread() = default;
    ReadingThread(const ReadingThread&) = delete;
    ReadingThread& operator=(const ReadingThread&) = delete;
    /// Waits for the job under way; the others are not begun.
    ~ReadingThread();

    /// Adds a job; what it uses must stay until wait() has returned its outcome.
    void add(std::function<Result<void>()> job);
    /// Waits for the end of the oldest job that was not waited for; its outcome.
    Result<void> wait();

  private:
    void work();

    std::mutex mutex_;  // of all below
    std::condition_variable changed_;
    std::deque<std::function<Result<void>()>> jobs_;
    std::deque<Result<void>> outcomes_;
    bool stopping_ = false;

    std::thread thread_;  // from the first job on
};

/// Whether the contents of a process are to be read, by its structure.
using WantedContents = std::function<bool(std::span<const std::byte>)>;

/// Captures batches of processes one after the other; a thread of its own reads those behind the
/// one that is being captured. Where the memory has no second source, where the output's size is
/// limited (what is captured decides what is read), or with CaptureOptions::read_ahead off, each is
/// read in its turn.
///
/// Batch has `void begin(std::span<const beam::IdSlot>)`, which copies the slots, and `Result<void>
/// read(memory::MemorySource&, const WantedContents&)`, which replaces what was read and touches
/// nothing of the session that changes. Memory: that of four batches.
template <typename Batch>
class BatchesAhead {
  public:
    using Capture = std::function<Result<void>(Batch&)>;

    BatchesAhead(Session& session, const Batch& empty, Capture capture)
        : session_(session), capture_(std::move(capture)) {
        const auto& options = session.options();
        if (options.read_ahead && !options.max_bytes) {
            second_ = session.vm().target().memory().second_source();
        }
        batches_.assign(second_ == nullptr ? 1 : kBatches, {empty, {}});
    }

    Result<void> hand_over(std::span<const beam::IdSlot> slots) {
        if (second_ == nullptr) {
            auto& batch = batches_.front().batch;
            batch.begin(slots);
            RETURN_IF_ERROR(read_in_turn(batch));
            return capture_(batch);
        }
        if (count_ == batches_.size()) {
            RETURN_IF_ERROR(capture_oldest());
        }
        auto& next = batches_[(oldest_ + count_) % batches_.size()];
        ++count_;
        next.batch.begin(slots);
        const bool any = !session_.used_up();
        thread_.add([this, &next, any] {
            const auto before = second_->stats();
            const auto done = next.batch.read(*second_, [&](std::span<const std::byte> structure) {
                return any && session_.wants(structure);
            });
            const auto after = second_->stats();
            next.read = {after.bytes - before.bytes, after.reads - before.reads};
            return done;
        });
        return {};
    }

    /// After the last batch: captures those that are read ahead.
    Result<void> finish() {
        while (count_ != 0) {
            RETURN_IF_ERROR(capture_oldest());
        }
        return {};
    }

  private:
    static constexpr std::size_t kBatches = 4;

    struct Ahead {
        Batch batch;
        memory::MemoryStats read;  ///< by the thread, for it
    };

    Result<void> read_in_turn(Batch& batch) {
        return batch.read(session_.vm().target().memory(),
                          [this](std::span<const std::byte> structure) {
                              return session_.skip_reason(structure) == records::VOID_REASON_NONE;
                          });
    }

    Result<void> capture_oldest() {
        const auto read = thread_.wait();
        auto& oldest = batches_[oldest_];
        oldest_ = (oldest_ + 1) % batches_.size();
        --count_;
        session_.count_reads(oldest.read);
        if (!read) {
            // A twin may be gone meanwhile: the session knows what is read in its place.
            RETURN_IF_ERROR(read_in_turn(oldest.batch));
        }
        return capture_(oldest.batch);
    }

    Session& session_;
    Capture capture_;
    std::vector<Ahead> batches_;
    std::size_t oldest_ = 0;
    std::size_t count_ = 0;  ///< of batches that are being read or are read
    std::unique_ptr<memory::MemorySource> second_;
    ReadingThread thread_;  // last: it uses the others
};

}  // namespace beamdump::capture
