#include "capture/node/persistent_capture.h"

#include "capture/node/activity_capture.h"

#include <libdump/base/return_if_error.h>

#include <utility>
#include <vector>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kTermsOfARecord = 1024;
constexpr int kPersistentAttempts = 4;  // where the hash table is replaced meanwhile

/// One reading of all terms, as records that the trailer does not name yet.
class Attempt {
  public:
    Attempt(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, bool moving,
            const PersistentTermsWanted& wanted)
        : writer_(copier.writer()),
          epoch_(wanted.epoch),
          rows_(vm, copier, binaries,
                {format::OwnerKind::kPersistent, 0, format::RegionKind::kPersistentTerm,
                 kTermsOfARecord},
                moving, [this](RowWriter::Part part) { return write(std::move(part)); }) {}
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    ~Attempt() = default;

    Result<bool> take(const beam::PersistentTermReader::Term& term,
                      const std::function<Result<bool>()>& same) {
        if (!term.row.words.empty()) {
            // It may end the record: then the term is one of the next.
            pending_ = {term.row.tuple, term.words, term.row.words.size() / beam::kEtsWord};
            ASSIGN_OR_RETURN(const auto taken, rows_.add({&term.row, 1}, same));
            if (!taken) {
                pending_.reset();
                return false;
            }
            note();
            return true;
        }
        pending_ = {term.row.tuple, term.words, 0};
        note();
        if (static_cast<std::uint64_t>(record_.term_size()) >= kTermsOfARecord) {
            RETURN_IF_ERROR(rows_.flush());
        }
        return true;
    }

    Result<std::vector<std::uint64_t>> finish(const beam::PersistentTermReader::Counts& counts) {
        record_.set_last(true);
        if (counts.counted) {
            record_.set_counted(*counts.counted);
        }
        record_.set_table_bytes(counts.table_bytes);
        record_.set_changed(counts.changed);
        record_.set_unreadable(counts.unreadable);
        record_.set_replaced(counts.replaced);
        record_.set_cut_off(counts.stopped);
        RETURN_IF_ERROR(rows_.flush());
        return std::move(offsets_);
    }

    [[nodiscard]] std::uint64_t terms() const { return terms_; }

  private:
    struct Place {
        std::uint64_t address = 0, words = 0, here = 0;
    };

    void note() {
        if (!pending_) {
            return;
        }
        auto& term = *record_.add_term();
        term.set_address(pending_->address);
        term.set_words(pending_->words);
        if (pending_->here < pending_->words) {
            term.set_left_out(true);
        }
        ++terms_;
        pending_.reset();
    }

    Result<void> write(RowWriter::Part part) {
        // RowWriter ends a part before or after a row that it takes.
        if (pending_ && part.rows > static_cast<std::uint64_t>(record_.term_size())) {
            note();
        }
        auto record = std::exchange(record_, {});
        record.set_first_index(terms_ - static_cast<std::uint64_t>(record.term_size()));
        record.set_epoch(epoch_);
        record.set_binaries_before_offset(part.binaries_before_offset);
        *record.mutable_directory() = std::move(part.directory);
        ASSIGN_OR_RETURN(const auto offset,
                         writer_.append(format::RecordKind::kPersistentTerms, record));
        offsets_.push_back(offset);
        return {};
    }

    DumpWriter& writer_;
    std::uint32_t epoch_;
    RowWriter rows_;
    records::PersistentTerms record_;
    std::optional<Place> pending_;
    std::vector<std::uint64_t> offsets_;
    std::uint64_t terms_ = 0;
};

}  // namespace

Result<void> write_persistent_terms(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries,
                                    records::Trailer& trailer, const beam::Moving& moving,
                                    const PersistentTermsWanted& wanted) {
    const auto leave_out = [&](const Error& error) -> Result<void> {
        if (error.code == ErrorCode::kTargetDied) {
            return std::unexpected(error);
        }
        trailer.add_warning("persistent terms are left out: " + error.message);
        return {};
    };
    const auto& not_found = vm.tables().other.not_found;
    auto reader = beam::PersistentTermReader::open(vm);
    const auto usable = RowWriter::check(vm);
    if (!reader || !usable) {
        return leave_out(!vm.tables().other.persistent_terms && !not_found.empty()
                             ? Error{ErrorCode::kAbsent, not_found.front()}
                         : !reader ? reader.error()
                                   : usable.error());
    }
    std::uint64_t most = 0;
    std::vector<std::uint64_t> offsets;
    beam::PersistentTermReader::Counts counts;
    std::optional<Error> not_written;
    for (int number = 0; number < kPersistentAttempts; ++number) {
        Attempt attempt(vm, copier, binaries, moving(), wanted);
        const auto read =
            reader->read({moving, wanted.validate, wanted.words, wanted.go_on},
                         [&](const beam::PersistentTermReader::Term& term,
                             const std::function<Result<bool>()>& same) -> Result<bool> {
                             auto taken = attempt.take(term, same);
                             if (!taken) {
                                 not_written = taken.error();
                             }
                             return taken;
                         });
        if (not_written) {
            return std::unexpected(std::move(*not_written));
        }
        if (!read) {
            return leave_out(read.error());
        }
        if (offsets.empty() || attempt.terms() >= most) {
            most = attempt.terms();
            counts = *read;
            ASSIGN_OR_RETURN(offsets, attempt.finish(counts));
        }
        if (!read->replaced) {
            break;
        }
    }
    trailer.mutable_persistent_terms_offset()->Add(offsets.begin(), offsets.end());
    warn_of_persistent_terms(counts, trailer);
    return {};
}

}  // namespace beamdump::capture
