#include <libdump/base/return_if_error.h>
#include <libdump/crash/text/text_pieces.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

// What is searched while the processor's cache still has it.
constexpr std::size_t kStepBytes = 128U << 10U;

}  // namespace

TextPieces::TextPieces(const TextSource& text, Span part)
    : text_(text), part_(part), next_(part.begin) {
    if (part.end - part.begin > kPieceBytes) {
        helper_ = std::thread([this] { help(); });
    }
}

TextPieces::~TextPieces() {
    if (helper_.joinable()) {
        if (helper_works_) {
            finished_.acquire();
        }
        stop_ = true;
        start_.release();
        helper_.join();
    }
}

void TextPieces::help() {
    while (true) {
        start_.acquire();
        if (stop_) {
            return;
        }
        fill(helped_);
        finished_.release();
    }
}

void TextPieces::fill(Slot& slot) const {
    slot.bytes.resize(kPieceBytes);
    slot.held = 0;
    slot.lines.clear();
    slot.done = {};
    const auto wanted = std::min<std::uint64_t>(kPieceBytes, part_.end - slot.begin);
    while (slot.held < wanted) {
        const auto step = std::min<std::uint64_t>(kStepBytes, wanted - slot.held);
        auto got =
            text_.read(slot.begin + slot.held, std::span(slot.bytes).subspan(slot.held, step));
        if (!got) {
            slot.done = std::unexpected(got.error());
            return;
        }
        if (*got == 0) {
            return;
        }
        const auto from = slot.held;
        slot.held += *got;
        SectionScanner::find_lines({slot.bytes.data(), slot.held}, from, slot.lines);
    }
}

Result<std::optional<TextPieces::Piece>> TextPieces::next() {
    Slot* slot = &own_;
    if (helper_works_) {
        finished_.acquire();
        helper_works_ = false;
        slot = &helped_;
    } else {
        if (next_ >= part_.end) {
            return std::nullopt;
        }
        own_.begin = next_;
        next_ += kPieceBytes;
        if (next_ < part_.end) {
            helped_.begin = next_;
            next_ += kPieceBytes;
            helper_works_ = true;
            start_.release();
        }
        fill(own_);
    }
    if (!slot->done) {
        return std::unexpected(slot->done.error());
    }
    if (slot->held == 0) {
        return std::nullopt;
    }
    return Piece{{slot->bytes.data(), slot->held}, slot->lines};
}

Result<void> scan_sections(const TextSource& text, Span part, SectionScanner& scanner,
                           const CrashDump::Progress& on_progress) {
    TextPieces pieces(text, part);
    while (true) {
        ASSIGN_OR_RETURN(auto piece, pieces.next());
        if (!piece) {
            return scanner.finish();
        }
        RETURN_IF_ERROR(scanner.feed(piece->text, piece->lines));
        if (on_progress) {
            on_progress(scanner.bytes(), part.end - part.begin);
        }
    }
}

}  // namespace beamdump::crash
