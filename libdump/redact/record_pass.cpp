#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/redact/crash_section.h>
#include <libdump/redact/record_pass.h>
#include <libdump/term/external_tags.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace beamdump::redact {

namespace {

using namespace std::string_view_literals;
using Type = WireField::Type;

std::unexpected<Error> malformed(const MessageRules& rules, std::uint32_t number) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("field {} of a {} record of the dump is malformed: it cannot be "
                            "redacted",
                            number, rules.name));
}

constexpr std::byte kX{'x'};

/// A length, the highest byte first.
void put_length(std::span<std::byte> bytes, std::size_t length) {
    for (auto at = bytes.size(); at-- > 0; length >>= 8U) {
        bytes[at] = static_cast<std::byte>(length);
    }
}

}  // namespace

WordLayout layout_of(format::RegionKind kind) {
    using format::RegionKind;
    // Without a default: the compiler reports a kind without a decision.
    switch (kind) {
        case RegionKind::kStack:
            return WordLayout::kStack;
        case RegionKind::kHeap:
        case RegionKind::kOldHeap:
        case RegionKind::kAbandonedHeap:
        case RegionKind::kHeapFragment:
        case RegionKind::kReceivedFragment:
        case RegionKind::kMessageFragment:
        case RegionKind::kShadowFragment:
        case RegionKind::kSignalData:
        case RegionKind::kRemoteIdentifiers:
        case RegionKind::kPersistentTerm:
        case RegionKind::kCopiedHeap:
        case RegionKind::kUnplaced:  // of a crash dump, whose words the conversion makes
        case RegionKind::kLiterals:  // but see LiteralPass
            return WordLayout::kObjects;
        case RegionKind::kEtsRow:
            return WordLayout::kRow;
        case RegionKind::kDictionary:
        case RegionKind::kArguments:
            return WordLayout::kTerms;
        case RegionKind::kUnknown:
        case RegionKind::kBinaryContent:
        case RegionKind::kExternalData:
        case RegionKind::kSpecificData:
            return WordLayout::kBlank;
        case RegionKind::kCollectedHeap:
            return WordLayout::kCollected;
    }
    return WordLayout::kBlank;
}

Result<void> RecordPass::message(std::span<std::byte> bytes, const MessageRules& rules) {
    for (WireReader reader(bytes);;) {
        ASSIGN_OR_RETURN(const auto next, reader.next());
        if (!next) {
            return {};
        }
        const auto* decision = rules.find(next->number);
        if (decision == nullptr) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("a {} record has field {}, and this version of the program "
                                    "does not know what to hide in it",
                                    rules.name, next->number));
        }
        RETURN_IF_ERROR(field(bytes, *next, *decision, rules));
    }
}

Result<void> RecordPass::field(std::span<std::byte> message, const WireField& field,
                               const FieldDecision& decision, const MessageRules& rules) {
    const bool is_bytes = field.type == Type::kBytes;
    switch (decision.rule) {
        case FieldRule::kKeep:
            // Packed numbers are bytes here; text has a rule of its own, in the schema too.
            return {};
        case FieldRule::kTerm:
            return terms(field);
        case FieldRule::kChecksum:
            if (field.type == Type::kVarint) {
                put_varint(field.value, 0);
            } else {
                std::ranges::fill(field.value, std::byte{0});
            }
            return {};
        case FieldRule::kWords:
            return packed_words(message, field);
        default:
            break;
    }
    if (!is_bytes) {
        return malformed(rules, field.number);
    }
    switch (decision.rule) {
        case FieldRule::kSentence:
            hide_names(field.value);
            return {};
        case FieldRule::kHide:
            hide(field.value);
            return {};
        case FieldRule::kArguments:
            argument(field.value);
            return {};
        case FieldRule::kMessage:
            return this->message(field.value, *decision.message);
        case FieldRule::kAtomTexts:
            return atom_text(message, field);
        case FieldRule::kSection:
            return hide_crash_section(field.value, atoms_);
        case FieldRule::kExternal: {
            constexpr std::uint32_t kDistFlags = 3;
            ASSIGN_OR_RETURN(const auto flags, wire_number(message, kDistFlags));
            const bool of_message = rules.name == "External";
            hide_external(field.value, !of_message || (flags.value_or(0) & 1U) == 0);
            return {};
        }
        default:
            return {};
    }
}

/// Each term becomes one that needs no more bytes.
Result<void> RecordPass::terms(const WireField& field) {
    ASSIGN_OR_RETURN(auto* const pass, words());
    if (field.type == Type::kVarint) {
        // A term of a record that is absent in the VM's structure is 0.
        const auto word = varint_of(field.value);
        put_varint(field.value, pass->term(word));
        return {};
    }
    // Fixed numbers, one or many. A term stands in eight bytes.
    for (std::size_t at = 0; at + kWordBytes <= field.value.size(); at += kWordBytes) {
        store(field.value, at, pass->term(load_known<std::uint64_t>(field.value, at)));
    }
    if (field.value.size() % kWordBytes != 0) {
        return fail(ErrorCode::kCorrupt, "words of a record of the dump are not whole");
    }
    return {};
}

Result<void> RecordPass::packed_words(std::span<std::byte> message, const WireField& field) {
    constexpr std::uint32_t kKind = 1;
    constexpr std::uint32_t kAddress = 2;
    constexpr std::uint32_t kTotal = 3;
    ASSIGN_OR_RETURN(const auto kind, wire_number(message, kKind));
    ASSIGN_OR_RETURN(const auto address, wire_number(message, kAddress));
    ASSIGN_OR_RETURN(const auto total, wire_number(message, kTotal));
    ASSIGN_OR_RETURN(auto* const pass, words());
    if (field.type != Type::kBytes || field.value.size() % kWordBytes != 0) {
        return fail(ErrorCode::kCorrupt, "words of a region of the dump are not whole");
    }
    const auto layout = kind && *kind <= 0xFF ? layout_of(static_cast<format::RegionKind>(*kind))
                                              : WordLayout::kBlank;
    pass->start(layout, total.value_or(field.value.size() / kWordBytes));
    pass->at(address.value_or(0));
    pass->run(field.value);
    pass->at(0);  // the terms of the record that follow are not there
    return {};
}

Result<void> RecordPass::atom_text(std::span<std::byte> message, const WireField& field) {
    constexpr std::uint32_t kFirstIndex = 1;
    ASSIGN_OR_RETURN(const auto first, wire_number(message, kFirstIndex));
    const auto index = first.value_or(0) + atom_++;
    atoms_.redact(static_cast<std::uint32_t>(index), field.value);
    return {};
}

Result<WordPass*> RecordPass::words() {
    if (words_ == nullptr) {
        return fail(ErrorCode::kCorrupt,
                    "the dump has terms before it says of which release they are: it cannot be "
                    "redacted");
    }
    return words_;
}

/// The limits of atoms, processes and ports are read from these flags of the emulator, which come
/// before the first `--`.
void RecordPass::argument(std::span<std::byte> text) {
    const std::string_view argument(reinterpret_cast<const char*>(text.data()), text.size());
    const bool digits = argument.find_first_not_of("0123456789") == std::string_view::npos;
    constexpr std::array kFlags = {"-t"sv, "+t"sv, "-P"sv, "+P"sv, "-Q"sv, "+Q"sv};
    const bool ends = argument == "--";
    is_emulators_ = is_emulators_ && !ends;
    const bool is_flag = is_emulators_ && std::ranges::find(kFlags, argument) != kFlags.end();
    if (!ends && !is_flag && !(is_table_size_ && digits)) {
        hide(text);
    }
    is_table_size_ = is_flag;
}

void hide(std::span<std::byte> bytes) {
    std::ranges::fill(bytes, kX);
}

void hide_names(std::span<std::byte> sentence) {
    const auto is_space = [](std::byte byte) { return byte == std::byte{' '}; };
    const auto shows_name = [](std::byte byte) {
        return byte == std::byte{'/'} || byte == std::byte{'@'} || byte == std::byte{'"'} ||
               byte >= std::byte{0x80};
    };
    for (auto rest = sentence; !rest.empty();) {
        const auto end = std::ranges::find_if(rest, is_space);
        const auto word = rest.first(static_cast<std::size_t>(end - rest.begin()));
        // An atom, or a section of a crash dump.
        if ((!word.empty() && (word[0] == std::byte{'\''} || word[0] == std::byte{'='})) ||
            std::ranges::any_of(word, shows_name)) {
            hide(word);
        }
        rest = rest.subspan(std::min(word.size() + 1, rest.size()));
    }
}

void hide_external(std::span<std::byte> bytes, bool versioned) {
    if (versioned && !bytes.empty()) {
        bytes[0] = std::byte{kExternalVersion};
        bytes = bytes.subspan(1);
    }
    hide(bytes);
    constexpr std::size_t kBinaryHead = 5;  // a tag and four bytes of length
    constexpr std::size_t kStringHead = 3;  // a tag and two
    if (bytes.size() >= kBinaryHead) {
        bytes[0] = std::byte{external_tag::kBinary};
        put_length(bytes.subspan(1, kBinaryHead - 1), bytes.size() - kBinaryHead);
    } else if (bytes.size() >= kStringHead) {
        bytes[0] = std::byte{external_tag::kString};
        put_length(bytes.subspan(1, kStringHead - 1), bytes.size() - kStringHead);
    } else if (bytes.size() == 2) {
        bytes[0] = std::byte{external_tag::kSmallInteger};
        bytes[1] = std::byte{0};
    } else if (bytes.size() == 1) {
        bytes[0] = std::byte{external_tag::kNil};
    }
}

}  // namespace beamdump::redact
