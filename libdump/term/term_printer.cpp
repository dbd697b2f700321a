#include <libdump/term/term_dialect.h>
#include <libdump/term/term_printer.h>

#include <bit>

namespace beamdump {

namespace {

/// Levels of nesting that a finished term leaves allocated for the next one.
constexpr std::size_t kKeptLevels = 4096;

}  // namespace

TermPrinter::TermPrinter(TermContext& context, const TagScheme& scheme, std::int64_t term_limit)
    : scheme_(scheme),
      term_limit_(term_limit),
      reader_(context),
      atoms_(context, scheme.style.syntax),
      buffer_(scheme.style.syntax),
      dialect_(&buffer_.dialect()) {}

void TermPrinter::start(std::uint64_t word) {
    buffer_.restart();
    frames_.clear();
    open_records_.clear();
    if (frames_.capacity() > kKeptLevels) {
        frames_.shrink_to_fit();
    }
    root_ = word;
    root_pending_ = true;
    cut_ = false;
    finished_ = false;
    budget_ = term_limit_;
}

std::size_t TermPrinter::next(std::size_t max_bytes, std::string& out) {
    return buffer_.next(max_bytes, out, finished_, [this] { step(); });
}

void TermPrinter::step() {
    if (root_pending_) {
        root_pending_ = false;
        print(root_);
    } else if (!frames_.empty()) {
        Frame& top = frames_.back();
        switch (top.kind) {
            case FrameKind::kArray:
                step_array(top);
                break;
            case FrameKind::kList:
                step_list(top);
                break;
            case FrameKind::kTail:
                leave("]");
                break;
            case FrameKind::kMap:
            case FrameKind::kRecord:
                step_map(top);
                break;
            case FrameKind::kMapNode:
                step_map_node(top);
                break;
            case FrameKind::kString:
                step_string(top);
                break;
            case FrameKind::kBinary:
                step_binary();
                break;
        }
    }
    if (frames_.empty()) {
        finished_ = true;
        if (cut_ || budget_ <= 0) {
            buffer_.put("... ");
        }
    }
}

void TermPrinter::step_array(Frame& frame) {
    while (frame.count != 0) {
        std::uint64_t word = 0;
        if (!next_slot(frame, word) || !print_simple(word)) {
            return;
        }
    }
    if (frame.named) {
        open_records_.pop_back();
    }
    leave("}");
}

/// Moves to a frame's next slot. False if it is missing, which ends the frame.
bool TermPrinter::next_slot(Frame& frame, std::uint64_t& word) {
    if (frame.begun && !frame.structure) {
        buffer_.separate(false, frame.named);
    }
    frame.begun = true;
    if (frame.named) {
        const auto& fields = *open_records_.back();
        buffer_.put(fields[fields.size() - frame.count]);
        buffer_.put(" = ");
    }
    --frame.count;
    frame.position += kWordBytes;
    const auto status = reader_.read(frame.position, word);
    if (status != WordStatus::kHere) {
        // One placeholder for all missing slots: an untrusted header may claim millions.
        unreadable(frame.position, status);
        frame.count = 0;
        return false;
    }
    return true;
}

bool TermPrinter::print_simple(std::uint64_t word) {
    const std::size_t depth = frames_.size();
    print(word);
    return frames_.size() == depth && buffer_.has_room();
}

void TermPrinter::print_slot(std::uint64_t address) {
    std::uint64_t word = 0;
    const auto status = reader_.read(address, word);
    if (status == WordStatus::kHere) {
        print(word);
    } else {
        unreadable(address, status);
    }
}

void TermPrinter::print(std::uint64_t word) {
    if (budget_-- <= 0) {
        stop();
        return;
    }
    switch (word_kind(scheme_, word)) {
        case WordKind::kSmall:
            buffer_.put_signed(small_value(word));
            return;
        case WordKind::kAtom:
            print_atom(table_index(word));
            return;
        case WordKind::kNil:
            buffer_.put("[]");
            return;
        case WordKind::kList:
            print_list(word);
            return;
        case WordKind::kBoxed:
            print_boxed(word);
            return;
        case WordKind::kPid:
            print_local_identifier(word, true);
            return;
        case WordKind::kPort:
            print_local_identifier(word, false);
            return;
        case WordKind::kHeader:
            print_header(word);
            return;
        case WordKind::kCatch:
            if (scheme_.prints_no_value && table_index(word) == 0) {
                buffer_.put("<novalue>");
                return;
            }
            [[fallthrough]];
        case WordKind::kUnknown:
            unreadable(word, WordStatus::kUnmapped);
            return;
    }
}

void TermPrinter::print_boxed(std::uint64_t word) {
    const std::uint64_t address = pointer_of(word);
    std::uint64_t header = 0;
    if (!read_words(address, std::span(&header, 1))) {
        return;
    }
    const BoxedKind kind = boxed_kind(scheme_, header);
    switch (kind) {
        case BoxedKind::kTuple:
            return print_tuple(address, header);
        case BoxedKind::kRecord:
            return print_record(address, header);
        case BoxedKind::kFlatMap:
            return print_flat_map(address);
        case BoxedKind::kHashMapNode:
            return print_hash_map(address, header, false);
        case BoxedKind::kHashMapHead:
            return print_hash_map(address, header, true);
        case BoxedKind::kPositiveBig:
            return print_big(address, header, false);
        case BoxedKind::kNegativeBig:
            return print_big(address, header, true);
        case BoxedKind::kFloat:
            return print_float(address);
        case BoxedKind::kReference:
            return print_reference(address, header);
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
        case BoxedKind::kExternalReference:
            return print_external(address, header, kind);
        case BoxedKind::kHeapBinary:
            if (!dialect_->elixir && print_short_binary(address, header)) {
                return;
            }
            return print_binary(address);
        case BoxedKind::kRefcBinary:
            if (scheme_.heap_binary_in_bits) {
                buffer_.put("#BinRef");
                return;
            }
            return print_binary(address);
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
            return print_binary(address);
        case BoxedKind::kFunRef:
            buffer_.put("#FunRef");
            return;
        case BoxedKind::kFun:
            return print_fun(address);
        case BoxedKind::kMatchContext:
            buffer_.put("#MatchState");
            return;
        case BoxedKind::kUnknown:
            unreadable(address, WordStatus::kUnmapped);
            return;
    }
}

void TermPrinter::print_tuple(std::uint64_t address, std::uint64_t header) {
    if (header_arity(header) > scheme_.max_tuple_arity) {
        unreadable(address, WordStatus::kUnmapped);
        return;
    }
    if (scheme_.style.records != nullptr && print_named_tuple(address, header)) {
        return;
    }
    push({.position = address,
          .count = static_cast<std::uint32_t>(header_arity(header)),
          .kind = FrameKind::kArray},
         "{");
}

/// A tuple that is a record whose fields are known.
bool TermPrinter::print_named_tuple(std::uint64_t address, std::uint64_t header) {
    std::uint64_t tag = 0;
    if (header_arity(header) == 0 || reader_.read(address + kWordBytes, tag) != WordStatus::kHere ||
        word_kind(scheme_, tag) != WordKind::kAtom) {
        return false;
    }
    const auto& atom = atoms_.at(table_index(tag));
    const auto* fields = scheme_.style.records->find(atom.name, header_arity(header));
    if (!atom.known || fields == nullptr) {
        return false;
    }
    const Frame frame{.position = address + kWordBytes,
                      .count = static_cast<std::uint32_t>(fields->size()),
                      .kind = FrameKind::kArray,
                      .named = true};
    buffer_.put('#');
    buffer_.put(atom.quoted);
    if (push(frame, "{")) {
        open_records_.push_back(fields);
    }
    return true;
}

bool TermPrinter::push(const Frame& frame, std::string_view opening) {
    // Brent again, along the path from the root: the tortoise waits at depth 1, 2, 4, 8, ... A slot
    // that is reached again while it is being printed is a cycle.
    if (frames_.size() >= 2) {
        const std::size_t deepest = frames_.size() - 1;
        const std::size_t tortoise = std::bit_floor(deepest);
        if (tortoise != deepest && frames_[tortoise].position == frames_[deepest].position) {
            cycle(frame.position);
            cut_ = true;
            stop();
            return false;
        }
    }
    buffer_.put(opening);
    if (frame.kind != FrameKind::kString && !opening.empty()) {
        buffer_.mark(LayoutMark::kOpen);
    }
    frames_.push_back(frame);
    return true;
}

void TermPrinter::leave(std::string_view closing) {
    if (closing != "\"") {
        buffer_.mark(LayoutMark::kClose);
    }
    buffer_.put(closing);
    frames_.pop_back();
}

void TermPrinter::stop() {
    frames_.clear();
    open_records_.clear();
}

bool TermPrinter::read_words(std::uint64_t address, std::span<std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto status = reader_.read(address + i * kWordBytes, words[i]);
        if (status != WordStatus::kHere) {
            unreadable(address, status);
            return false;
        }
    }
    return true;
}

void TermPrinter::unreadable(std::uint64_t address, WordStatus status) {
    const bool absent = status == WordStatus::kAbsent;
    ++(absent ? statistics_.absent : statistics_.malformed);
    buffer_.put(absent ? "#Absent<" : "#Unreadable<");
    buffer_.put_pointer(scheme_, address);
    buffer_.put('>');
}

void TermPrinter::cycle(std::uint64_t address) {
    ++statistics_.malformed;
    buffer_.put("#Cycle<");
    buffer_.put_pointer(scheme_, address);
    buffer_.put('>');
}

}  // namespace beamdump
