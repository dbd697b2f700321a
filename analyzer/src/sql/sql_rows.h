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

/// Rows that are there.
class HeldRows final : public Rows {
  public:
    explicit HeldRows(std::vector<query::Row> rows, std::string missing = {})
        : rows_(std::move(rows)), missing_(std::move(missing)) {}

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
    std::string missing_;
    std::size_t given_ = 0;
};

/// Refuses rows that would take more memory than is allowed.
class Room {
  public:
    explicit Room(const InputLimits& limits) : left_(limits.memory) {}

    /// A row with texts of so many bytes.
    Result<void> take(std::size_t text_bytes) {
        constexpr std::size_t kRowBytes = 200;
        if (kRowBytes + text_bytes > left_) {
            return fail(ErrorCode::kLimit,
                        "the rows need more memory than --max-memory allows: ask for fewer "
                        "(WHERE, LIMIT), or raise it");
        }
        left_ -= kRowBytes + text_bytes;
        return {};
    }

  private:
    std::uint64_t left_;
};

/// Withheld terms are no empty answer: kNotFound says why.
Result<void> check_shown(Withheld withheld, const query::ProcessLine& line);

/// What an answer lacks of processes, in sentences.
std::vector<std::string> withheld_sentences(const query::ProcessesRead& read);

}  // namespace beamdump::sql
