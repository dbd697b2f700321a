#include <libdump/model/messages.h>

#include <algorithm>

namespace beamdump {

MessageWalker::MessageWalker(DumpReader& reader, const ProcessRun& run)
    : reader_(reader), run_(run) {}

void MessageWalker::seek(std::uint64_t index) {
    const auto& packs = run_.directory.messages;
    // Packs are in order; a wrong count in a damaged directory must not hide the next pack.
    const auto after = std::ranges::upper_bound(packs, index, {}, &Pack::first_index);
    next_pack_ = after == packs.begin() ? 0 : static_cast<std::size_t>(after - packs.begin()) - 1;
    pack_.Clear();
    next_entry_ = 0;
    wanted_ = index;
}

Result<const records::Message*> MessageWalker::next() {
    while (next_entry_ >= pack_.entry_size()) {
        if (next_pack_ >= run_.directory.messages.size()) {
            return nullptr;
        }
        auto pack = reader_.message_at<records::Messages>(
            run_.directory.messages[next_pack_].offset, format::RecordKind::kMessages);
        if (!pack) {
            return wrap("reading messages", std::move(pack.error()));
        }
        pack_ = std::move(*pack);
        ++next_pack_;
        ++packs_read_;
        const auto entries = static_cast<std::uint64_t>(pack_.entry_size());
        const auto before = wanted_ - std::min(wanted_, pack_.first_index());
        next_entry_ = static_cast<int>(std::min(before, entries));
    }
    index_ = pack_.first_index() + static_cast<std::uint64_t>(next_entry_);
    return &pack_.entry(next_entry_++);
}

bool is_message(const records::Message& entry) {
    switch (entry.kind()) {
        case records::MESSAGE_KIND_HEAP:
        case records::MESSAGE_KIND_FRAGMENT:
        case records::MESSAGE_KIND_COMBINED:
        case records::MESSAGE_KIND_EXTERNAL:
            return true;
        default:
            return false;
    }
}

}  // namespace beamdump
