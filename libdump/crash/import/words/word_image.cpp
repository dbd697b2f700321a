#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>
#include <libdump/crash/import/words/word_image.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

namespace beamdump::crash {

std::unexpected<Error> WordImage::file_error(std::string_view action, ssize_t result) const {
    const bool full = result < 0 && (errno == ENOSPC || errno == EDQUOT);
    return fail(full ? ErrorCode::kNoSpace : ErrorCode::kIo,
                fmt::format("cannot {} a temporary file of {} MiB: {}; set TMPDIR to a directory "
                            "with more room",
                            action, file_blocks_ * sizeof(Block) >> 20U,
                            result == 0 ? "it is cut short" : system_error_text(errno)));
}

/// Writes blocks whose places in the file are consecutive.
Result<void> WordImage::store(std::span<Place* const> places) {
    static_assert(std::is_trivially_copyable_v<Block>);
    std::array<iovec, kEvictedAtOnce> parts{};
    auto left = std::span(parts).first(places.size());
    for (std::size_t index = 0; index < places.size(); ++index) {
        // Also in the file, so that a block that is loaded has it.
        places[index]->block->stored = true;
        left[index] = {places[index]->block, sizeof(Block)};
    }
    auto at = static_cast<off_t>(places.front()->in_file * sizeof(Block));
    while (!left.empty()) {
        const auto count = ::pwritev(file_.get(), left.data(), static_cast<int>(left.size()), at);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return file_error("write", count);
        }
        at += std::max<ssize_t>(count, 0);
        auto written = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        while (!left.empty() && written >= left.front().iov_len) {
            written -= left.front().iov_len;
            left = left.subspan(1);
        }
        if (!left.empty()) {
            left.front().iov_base = static_cast<char*>(left.front().iov_base) + written;
            left.front().iov_len -= written;
        }
    }
    return {};
}

Result<void> WordImage::load(const Place& place) {
    auto* const bytes = reinterpret_cast<char*>(place.block);
    for (std::size_t done = 0; done < sizeof(Block);) {
        const auto count = ::pread(file_.get(), bytes + done, sizeof(Block) - done,
                                   static_cast<off_t>(place.in_file * sizeof(Block) + done));
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return file_error("read", count);
        }
        done += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    return {};
}

/// Frees one block or more.
Result<void> WordImage::make_room() {
    if (pool_.size() < kBlocksHeld) {
        free_.push_back(pool_.emplace_back(std::make_unique<Block>()).get());
        return {};
    }
    if (!file_.valid()) {
        ASSIGN_OR_RETURN(auto file, open_temporary_file());
        file_ = std::move(file);
    }
    std::vector<Place*> evicted;
    std::vector<Place*> fresh;
    for (auto oldest = recent_.rbegin(); evicted.size() < kEvictedAtOnce; ++oldest) {
        auto& place = blocks_.at(*oldest);
        evicted.push_back(&place);
        if (!place.has_file_place) {
            if (budget_ != nullptr) {
                RETURN_IF_ERROR(budget_->take_temporary(sizeof(Block)));
            }
            place.in_file = file_blocks_++;
            place.has_file_place = true;
            fresh.push_back(&place);
        } else if (!place.block->stored) {
            RETURN_IF_ERROR(store(std::array{&place}));
        }
    }
    if (!fresh.empty()) {
        RETURN_IF_ERROR(store(fresh));
    }
    for (auto* const place : evicted) {
        recent_.pop_back();
        free_.push_back(place->block);
        place->block = nullptr;
    }
    return {};
}

WordImage::Place& WordImage::make_place(std::uint64_t number) {
    if (budget_ != nullptr) {
        budget_->use_memory(kPlaceBytes);
    }
    return blocks_[number];
}

void WordImage::give_back() {
    if (budget_ != nullptr) {
        budget_->give_memory(blocks_.size() * kPlaceBytes);
        budget_->give_temporary(file_blocks_ * sizeof(Block));
    }
}

/// Null where nothing was put or begun.
WordImage::Place* WordImage::place_of(std::uint64_t number) {
    auto& recent = recent_places_[number % kRecentPlaces];
    if (recent.second == nullptr || recent.first != number) {
        const auto found = blocks_.find(number);
        if (found == blocks_.end()) {
            return nullptr;
        }
        recent = {number, &found->second};
    }
    return recent.second;
}

Result<WordImage::Block*> WordImage::block(std::uint64_t number, bool make) {
    if (last_block_ != nullptr && number == last_number_) {
        return last_block_;
    }
    auto* known = place_of(number);
    if (known == nullptr) {
        if (!make) {
            return nullptr;
        }
        known = &make_place(number);
        if (budget_ != nullptr && budget_->memory_exceeded()) {
            return std::unexpected(budget_->check_memory().error());
        }
    }
    auto& place = *known;
    if (place.block == nullptr) {
        if (free_.empty()) {
            RETURN_IF_ERROR(make_room());
        }
        place.block = free_.back();
        if (place.has_file_place) {
            if (auto done = load(place); !done) {
                place.block = nullptr;
                return std::unexpected(done.error());
            }
        } else {
            place.block->present.reset();
            place.block->pointers.reset();
            place.block->stored = false;
        }
        free_.pop_back();
        recent_.push_front(number);
        place.recent = recent_.begin();
    } else {
        recent_.splice(recent_.begin(), recent_, place.recent);
    }
    last_number_ = number;
    last_block_ = place.block;
    return place.block;
}

Result<void> WordImage::put(std::uint64_t address, Word word) {
    const auto index = address / kWordBytes;
    ASSIGN_OR_RETURN(auto held, block(index / kBlockWords, true));
    const auto slot = index % kBlockWords;
    Block& here = *held;
    words_ += here.present[slot] ? 0 : 1;
    here.words[slot] = word.value;
    here.pointers[slot] = word.is_pointer;
    here.present[slot] = true;
    here.stored = false;
    return {};
}

void WordImage::begin(std::uint64_t address, ObjectStart what) {
    const auto index = address / kWordBytes;
    auto* known = place_of(index / kBlockWords);
    if (known == nullptr && what == ObjectStart::kNone) {
        return;
    }
    auto& place = known != nullptr ? *known : make_place(index / kBlockWords);
    place.cells[index % kBlockWords] = what == ObjectStart::kCell;
    place.boxed[index % kBlockWords] = what == ObjectStart::kBoxed;
}

void WordImage::begin_line(std::uint64_t address, ObjectStart what) {
    const auto index = address / kWordBytes;
    auto* const known = place_of(index / kBlockWords);
    const auto slot = index % kBlockWords;
    if (known != nullptr && (known->cells[slot] || known->boxed[slot])) {
        known->cells[slot] = true;
        known->boxed[slot] = true;
        return;
    }
    begin(address, what);
}

bool WordImage::begins_twice(std::uint64_t address) {
    const auto index = address / kWordBytes;
    const auto* const place = place_of(index / kBlockWords);
    const auto slot = index % kBlockWords;
    return place != nullptr && place->cells[slot] && place->boxed[slot];
}

ObjectStart WordImage::object_at(std::uint64_t address) {
    const auto index = address / kWordBytes;
    const auto* const place = place_of(index / kBlockWords);
    if (address % kWordBytes != 0 || place == nullptr) {
        return ObjectStart::kNone;
    }
    const auto slot = index % kBlockWords;
    return place->cells[slot] == place->boxed[slot] ? ObjectStart::kNone
           : place->cells[slot]                     ? ObjectStart::kCell
                                                    : ObjectStart::kBoxed;
}

Result<bool> WordImage::is_free(std::uint64_t address, std::uint64_t words) {
    for (auto index = address / kWordBytes, end = index + words; index < end;) {
        const auto stop = std::min(end, (index / kBlockWords + 1) * kBlockWords);
        ASSIGN_OR_RETURN(auto held, block(index / kBlockWords, false));
        for (; index < stop; ++index) {
            if (held != nullptr && held->present[index % kBlockWords]) {
                return false;
            }
        }
    }
    return true;
}

bool WordImage::begins_within(std::uint64_t address, std::uint64_t words) {
    for (auto index = address / kWordBytes + 1, end = index - 1 + words; index < end;) {
        const auto stop = std::min(end, (index / kBlockWords + 1) * kBlockWords);
        const auto* const place = place_of(index / kBlockWords);
        for (; index < stop; ++index) {
            if (place != nullptr &&
                (place->cells[index % kBlockWords] || place->boxed[index % kBlockWords])) {
                return true;
            }
        }
    }
    return false;
}

Result<std::vector<WordImage::Stretch>> WordImage::stretches(std::uint64_t gap) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(blocks_.size());
    for (const auto& [number, place] : blocks_) {
        numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    std::vector<Stretch> found;
    for (const auto number : numbers) {
        ASSIGN_OR_RETURN(auto held, block(number, false));
        for (std::uint64_t slot = 0; slot < kBlockWords; ++slot) {
            if (!held->present[slot]) {
                continue;
            }
            const auto address = (number * kBlockWords + slot) * kWordBytes;
            const auto next =
                found.empty() ? 0 : found.back().address + found.back().words * kWordBytes;
            if (found.empty() || address - next >= gap * kWordBytes) {
                found.push_back({address, 1});
            } else {
                found.back().words = (address - found.back().address) / kWordBytes + 1;
            }
        }
    }
    return found;
}

Result<void> WordImage::read(std::uint64_t address, std::span<Word> into, std::uint64_t missing) {
    auto index = address / kWordBytes;
    for (auto& word : into) {
        ASSIGN_OR_RETURN(auto held, block(index / kBlockWords, false));
        const auto slot = index % kBlockWords;
        word = held == nullptr || !held->present[slot]
                   ? Word{missing, false}
                   : Word{held->words[slot], held->pointers[slot]};
        ++index;
    }
    return {};
}

Result<std::size_t> WordImage::read_present(std::uint64_t address, std::span<Word> into) {
    const auto index = address / kWordBytes;
    ASSIGN_OR_RETURN(auto held, block(index / kBlockWords, false));
    std::size_t count = 0;
    auto slot = index % kBlockWords;
    while (held != nullptr && count < into.size() && slot < kBlockWords && held->present[slot]) {
        into[count++] = {held->words[slot], held->pointers[slot]};
        ++slot;
    }
    return count;
}

void WordImage::clear() {
    give_back();
    recent_places_ = {};
    blocks_.clear();
    recent_.clear();
    free_.clear();
    for (const auto& held : pool_) {
        free_.push_back(held.get());
    }
    last_block_ = nullptr;
    file_ = Descriptor();
    file_blocks_ = 0;
    words_ = 0;
}

}  // namespace beamdump::crash
