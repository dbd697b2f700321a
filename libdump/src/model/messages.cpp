#include <libdump/model/messages.h>

namespace beamdump {

MessageWalker::MessageWalker(DumpReader& reader, const ProcessRun& run)
    : reader_(reader), run_(run) {}

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
        next_entry_ = 0;
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
