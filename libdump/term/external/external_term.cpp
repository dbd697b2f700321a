#include <libdump/term/external_tags.h>
#include <libdump/term/external_term.h>
#include <libdump/term/term_dialect.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

/// Characters or elements in one step: at most a few bytes of text each.
constexpr std::size_t kElementsPerStep = 512;
/// Levels of nesting that a finished term leaves allocated for the next one.
constexpr std::size_t kKeptExternalLevels = 4096;

/// Limits of looking ahead: for each byte of the term, and for a small one.
constexpr std::uint64_t kLookAheadPerByte = 64;
constexpr std::uint64_t kLookAheadAtLeast = 1U << 16U;

}  // namespace

ExternalTermPrinter::ExternalTermPrinter(ExternalNames& names, const TagScheme& scheme)
    : atoms_(reader_, names),
      order_(reader_, atoms_),
      style_(scheme.style),
      buffer_(scheme.style.syntax),
      dialect_(&buffer_.dialect()),
      atom_keys_by_index_(scheme.atom_keys_by_index) {}

void ExternalTermPrinter::start(const ExternalTerm& term) {
    reader_.open(*term.source);
    atoms_.open(term.cached_atoms);
    buffer_.restart();
    frames_.clear();
    sorted_.clear();
    open_records_.clear();
    if (frames_.capacity() > kKeptExternalLevels) {
        frames_.shrink_to_fit();
        sorted_.shrink_to_fit();
    }
    at_ = 0;
    look_ahead_ = kLookAheadAtLeast + reader_.size() * kLookAheadPerByte;
    version_byte_ = term.version_byte;
    root_pending_ = true;
    failed_ = false;
    finished_ = false;
}

std::size_t ExternalTermPrinter::next(std::size_t max_bytes, std::string& out) {
    return buffer_.next(max_bytes, out, finished_, [this] { step(); });
}

void ExternalTermPrinter::step() {
    if (root_pending_) {
        root_pending_ = false;
        std::uint8_t version = kExternalVersion;
        const auto status = version_byte_ ? reader_.byte(at_++, version) : ExternalStatus::kHere;
        if (status != ExternalStatus::kHere || version != kExternalVersion) {
            fail(status == ExternalStatus::kHere ? ExternalStatus::kMalformed : status, 0);
        } else {
            print();
        }
    } else if (failed_ && !frames_.empty()) {
        close();
    } else if (!frames_.empty()) {
        Frame& top = frames_.back();
        switch (top.kind) {
            case FrameKind::kTuple:
                step_parts(top);
                break;
            case FrameKind::kList:
                step_list(top);
                break;
            case FrameKind::kTail:
                close();
                break;
            case FrameKind::kMap:
            case FrameKind::kSortedMap:
                step_map(top);
                break;
            case FrameKind::kRecord:
                step_record(top);
                break;
            case FrameKind::kBinary:
                step_binary(top);
                break;
        }
    }
    finished_ = frames_.empty();
}

void ExternalTermPrinter::close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (!frame.quoted) {
        buffer_.mark(LayoutMark::kClose);
    } else if (dialect_->elixir) {
        buffer_.end_characters();
    }
    if (frame.named) {
        open_records_.pop_back();
    }
    switch (frame.kind) {
        case FrameKind::kTuple:
        case FrameKind::kMap:
        case FrameKind::kSortedMap:
        case FrameKind::kRecord:
            buffer_.put('}');
            return;
        case FrameKind::kList:
        case FrameKind::kTail:
            buffer_.put(frame.quoted ? '"' : ']');
            return;
        case FrameKind::kBinary:
            buffer_.put(frame.quoted ? dialect_->binary_end : ">>");
            return;
    }
}

void ExternalTermPrinter::step_parts(Frame& frame) {
    const std::size_t depth = frames_.size();
    for (std::size_t i = 0; i < kElementsPerStep; ++i) {
        if (frame.left == 0) {
            close();
            return;
        }
        if (frame.begun) {
            buffer_.separate(false, frame.named);
        }
        frame.begun = true;
        if (frame.named) {
            const auto& fields = *open_records_.back();
            buffer_.put(fields[fields.size() - frame.left]);
            buffer_.put(" = ");
        }
        --frame.left;
        print();
        if (failed_ || frames_.size() != depth || !buffer_.has_room()) {
            return;
        }
    }
}

void ExternalTermPrinter::step_list(Frame& frame) {
    const std::size_t depth = frames_.size();
    for (std::size_t i = 0; i < kElementsPerStep; ++i) {
        if (!next_element(frame) || failed_ || frames_.size() != depth || !buffer_.has_room()) {
            return;
        }
    }
}

/// Prints a list's next element or its end. False if the list is complete.
bool ExternalTermPrinter::next_element(Frame& frame) {
    if (frame.left == 0 && frame.characters) {
        close();
        return false;
    }
    if (frame.left == 0) {
        const auto tail = read_external_item(reader_, at_);
        const bool goes_on =
            tail.status == ExternalStatus::kHere &&
            (tail.kind == ExternalKind::kList || tail.kind == ExternalKind::kString);
        if (goes_on) {
            frame.left = tail.count;
            frame.characters = tail.kind == ExternalKind::kString;
            at_ = frame.characters ? tail.content : tail.next;
            return true;
        }
        if (tail.status == ExternalStatus::kHere && tail.kind == ExternalKind::kNil) {
            at_ = tail.next;
            close();
            return false;
        }
        buffer_.put_tail();
        frame.kind = FrameKind::kTail;
        print(tail);
        return false;
    }
    --frame.left;
    if (!frame.quoted && frame.begun) {
        buffer_.separate(frame.characters);
    }
    frame.begun = true;
    if (!frame.characters && !frame.quoted) {
        if (!frame.keyword || !print_keyword_pair()) {
            print();
        }
        return true;
    }
    std::uint64_t character = 0;
    if (frame.characters) {
        std::uint8_t byte = 0;
        const auto status = reader_.byte(at_, byte);
        if (status != ExternalStatus::kHere) {
            fail(status, at_);
            return false;
        }
        ++at_;
        character = byte;
    } else {
        const auto item = read_external_item(reader_, at_);
        at_ = item.next;
        character = static_cast<std::uint64_t>(item.value);
    }
    if (frame.quoted) {
        put_string_character(static_cast<char>(character));
    } else {
        buffer_.put_unsigned(character);
    }
    return true;
}

void ExternalTermPrinter::step_map(Frame& frame) {
    if (frame.left == 0) {
        if (frame.kind == FrameKind::kSortedMap) {
            at_ = sorted_.back();
            sorted_.pop_back();
        }
        close();
        return;
    }
    const bool key = frame.left % 2 == 0;
    --frame.left;
    if (frame.kind == FrameKind::kSortedMap) {
        at_ = sorted_.back();
        sorted_.pop_back();
    }
    if (!key) {
        buffer_.put(frame.record ? "=" : frame.keyword ? " " : dialect_->pair);
        print();
        return;
    }
    if (frame.structure && hides_next()) {
        --frame.left;
        if (frame.kind == FrameKind::kSortedMap) {
            sorted_.pop_back();
        }
        return;
    }
    if (frame.begun) {
        buffer_.separate();
    }
    frame.begun = true;
    print_key(frame);
}

void ExternalTermPrinter::step_record(Frame& frame) {
    if (frame.left == 0) {
        close();
        return;
    }
    const bool key = frame.left % 2 == 0;
    --frame.left;
    if (!key) {
        buffer_.put('=');
        print();
        return;
    }
    if (frame.begun) {
        buffer_.separate();
    }
    frame.begun = true;
    // print_record() has checked that it is an atom.
    const auto item = read_external_item(reader_, frame.key);
    frame.key = item.next;
    print_atom(item.atom, false);
}

void ExternalTermPrinter::print() {
    print(read_external_item(reader_, at_));
}

void ExternalTermPrinter::print(const ExternalItem& item) {
    if (item.status != ExternalStatus::kHere) {
        fail(item.status, item.at);
        return;
    }
    at_ = item.next;
    switch (item.kind) {
        case ExternalKind::kInteger:
            buffer_.put_signed(item.value);
            return;
        case ExternalKind::kBig:
            print_big(item);
            return;
        case ExternalKind::kFloat:
            buffer_.put(dialect_->elixir ? elixir_float(item.number)
                                         : fmt::format("{:.6e}", item.number));
            return;
        case ExternalKind::kAtom:
            print_atom(item.atom, dialect_->elixir);
            return;
        case ExternalKind::kReference:
        case ExternalKind::kPort:
        case ExternalKind::kPid:
            print_identifier(item);
            return;
        case ExternalKind::kFun:
        case ExternalKind::kExport:
            print_fun(item);
            return;
        case ExternalKind::kTuple:
            if (style_.records == nullptr || !print_named_tuple(item)) {
                buffer_.open("{");
                frames_.push_back({.left = item.count, .kind = FrameKind::kTuple});
            }
            return;
        case ExternalKind::kMap:
            print_map(item);
            return;
        case ExternalKind::kRecord:
            print_record(item);
            return;
        case ExternalKind::kNil:
            buffer_.put("[]");
            return;
        case ExternalKind::kList:
        case ExternalKind::kString: {
            const bool quoted = is_printable_string(item);
            const bool characters = item.kind == ExternalKind::kString;
            const bool keyword = dialect_->elixir && !quoted && is_keyword_list(item);
            if (quoted) {
                buffer_.put(dialect_->string);
            } else {
                buffer_.open("[");
            }
            at_ = characters ? item.content : item.next;
            frames_.push_back({.left = item.count,
                               .kind = FrameKind::kList,
                               .characters = characters,
                               .quoted = quoted,
                               .keyword = keyword});
            return;
        }
        case ExternalKind::kBinary:
            print_binary(item);
            return;
    }
}

void ExternalTermPrinter::fail(ExternalStatus status, std::uint64_t at) {
    mark(status, at);
    failed_ = true;
}

void ExternalTermPrinter::mark(ExternalStatus status, std::uint64_t at) {
    const bool absent = status == ExternalStatus::kAbsent;
    ++(absent ? statistics_.absent : statistics_.malformed);
    buffer_.put(absent ? "#Absent<byte " : "#Malformed<byte ");
    buffer_.put_unsigned(at);
    buffer_.put(" of ");
    buffer_.put_unsigned(reader_.size());
    buffer_.put('>');
}

}  // namespace beamdump
