#pragma once

#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <cstddef>

namespace beamdump {

/// Writes entries of one kind in pages: records of type Page, whose offsets the trailer lists.
/// Non-owning: the writer and the list.
template <typename Page>
class RecordPages {
  public:
    using Offsets = google::protobuf::RepeatedField<std::uint64_t>;

    RecordPages(DumpWriter& writer, format::RecordKind kind, Offsets& offsets,
                std::size_t entries_of_a_page = limits::kEntriesOfAPage)
        : writer_(writer), kind_(kind), offsets_(offsets), most_(entries_of_a_page) {}

    /// `put` adds one entry to the page that it is given.
    template <typename Put>
    Result<void> add(const Put& put) {
        put(page_);
        return ++entries_ < most_ ? Result<void>() : flush();
    }

    /// Writes what is left. With `also_empty` a dump without any entry gets one empty page, which
    /// says that there are none.
    Result<void> finish(bool also_empty) {
        return entries_ != 0 || (also_empty && !written_) ? flush() : Result<void>();
    }

  private:
    Result<void> flush() {
        auto done = append_noted(writer_, kind_, page_, offsets_);
        page_.Clear();
        entries_ = 0;
        written_ = true;
        return done;
    }

    DumpWriter& writer_;
    format::RecordKind kind_;
    Offsets& offsets_;
    std::size_t most_;
    Page page_;
    std::size_t entries_ = 0;
    bool written_ = false;
};

}  // namespace beamdump
