#pragma once

#include "query/process/every_process.h"
#include "query/process/process_line.h"
#include "sql/sql_table.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/messages.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sql {

/// Bytes of a term's text in a row.
inline constexpr std::size_t kTermBytes = 4096;

/// kLimit where the rows that are held exceed the memory that the statement may take.
inline Result<void> check_room(const Budget& memory) {
    return memory.memory_exceeded()
               ? fail(ErrorCode::kLimit,
                      "the rows of a table need more memory than --max-memory allows: ask for "
                      "fewer (WHERE, LIMIT), or raise it")
               : check_stop(memory.stop());
}

/// Memory of rows that are held, of what the statement may take; given back at its end.
class Room {
  public:
    /// Where so many bytes were counted already. Non-owning.
    explicit Room(Budget& memory, std::uint64_t bytes = 0) : memory_(&memory), bytes_(bytes) {}
    Room(Room&& other) noexcept : memory_(other.memory_), bytes_(std::exchange(other.bytes_, 0)) {}
    Room& operator=(Room&&) = delete;
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { memory_->give_memory(bytes_); }

    /// kLimit where the row exceeds it.
    Result<void> take(const query::Row& row) {
        const auto bytes = query::row_bytes(row);
        bytes_ += bytes;
        memory_->use_memory(bytes);
        return check_room(*memory_);
    }

  private:
    Budget* memory_;
    std::uint64_t bytes_;
};

/// Rows that are there.
class HeldRows final : public Rows {
  public:
    HeldRows(std::vector<query::Row> rows, Room room, std::string missing = {})
        : rows_(std::move(rows)), room_(std::move(room)), missing_(std::move(missing)) {}

    Result<bool> next(query::Row& row) override {
        if (given_ == rows_.size()) {
            return false;
        }
        row = std::move(rows_[given_++]);
        return true;
    }
    [[nodiscard]] std::string missing() const override { return missing_; }

  private:
    std::vector<query::Row> rows_;
    Room room_;
    std::string missing_;
    std::size_t given_ = 0;
};

/// Withheld terms are no empty answer: kNotFound says why.
Result<void> check_shown(Withheld withheld, const query::ProcessLine& line);

/// What an answer lacks of processes, in sentences.
std::vector<std::string> withheld_sentences(const query::ProcessesRead& read);

}  // namespace beamdump::sql
