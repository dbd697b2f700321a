// The part of RunWriter that writes the messages of a process.

#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/records/run_writer.h>
#include <libdump/crash/text/byte_parser.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

namespace beamdump::crash {
namespace {

constexpr std::uint64_t kMaxCachedAtoms = 4096;

}  // namespace

/// A message: its term, or its undecoded bytes; then its token (erl_process_dump.c, dump_msg()).
Result<void> RunWriter::write_messages(const ProcessSections& sections) {
    if (!sections.messages) {
        return {};
    }
    TextCursor text(dump_.text(), sections.messages->begin, sections.messages->end);
    while (!text.at_end()) {
        RETURN_IF_ERROR(names_.check());
        const auto begin = text.position();
        records::Message message;
        message.set_queue(records::QUEUE_KIND_INNER);
        ASSIGN_OR_RETURN(auto taken, take_message(text, message));
        const bool ends = text.take_line_end();
        if (!ends) {
            text.skip_line();
        }
        if (!taken || !ends) {
            root_counts_.add_malformed(begin);
        }
        if (!taken) {
            continue;
        }
        RETURN_IF_ERROR(records_.message(std::move(message)));
    }
    return text.error() ? Result<void>(std::unexpected(*text.error())) : Result<void>();
}

Result<bool> RunWriter::take_message(TextCursor& text, records::Message& message) {
    if (text.take('D')) {
        message.set_kind(records::MESSAGE_KIND_EXTERNAL);
        auto taken = take_external(text, *message.mutable_external());
        if (!taken || !*taken) {
            return taken;
        }
    } else {
        const auto term = take_element(text, format_, names_);
        if (!term) {
            return false;
        }
        message.set_kind(records::MESSAGE_KIND_HEAP);
        message.set_term_word(final_word(*term, objects(), format_.words));
    }
    if (text.take(':')) {
        const auto token = take_element(text, format_, names_);
        if (token && (token->is_pointer || token->value != format_.words.nil())) {
            message.set_token_word(final_word(*token, objects(), format_.words));
        }
    }
    return true;
}

/// `D`, the atoms of its cache references, `E` and its bytes (dump_dist_ext()).
Result<bool> RunWriter::take_external(TextCursor& text, records::External& into) {
    const auto atoms = text.take_hex();
    if (!atoms || *atoms > kMaxCachedAtoms || !text.take(':')) {
        return false;
    }
    for (std::uint64_t index = 0; index < *atoms; ++index) {
        const auto name = text.take('A') ? take_atom(text, format_) : std::nullopt;
        if (!name) {
            return false;
        }
        into.add_atom(names_.atom(*name));
    }
    const auto bytes = text.take('E') ? text.take_hex() : std::nullopt;
    if (!bytes || !text.take(':')) {
        return false;
    }
    into.set_total_bytes(*bytes);
    ByteParser content(text, format_.base64);
    if (*bytes <= limits::kInlineBytes) {
        auto& data = *into.mutable_data();
        data.resize(*bytes);
        data.resize(content.read({reinterpret_cast<std::uint8_t*>(data.data()), data.size()}));
        return data.size() == *bytes;
    }
    format::RegionHeader header;
    header.owner_kind = format::OwnerKind::kProcess;
    header.owner_id = owner_;
    header.region_kind = format::RegionKind::kExternalData;
    header.unit = format::RegionUnit::kBytes;
    header.word_bytes = 1;
    header.total = std::min(*bytes, dump_.text().size() - text.position());
    auto placed = writer_.append_region(
        header, [&content](std::uint64_t /*first*/, std::span<std::byte> part) {
            return Result<std::uint64_t>(
                content.read({reinterpret_cast<std::uint8_t*>(part.data()), part.size()}));
        });
    if (!placed) {
        return std::unexpected(placed.error());
    }
    *into.add_part() = region_ref(header, *placed);
    return placed->here == *bytes;
}

}  // namespace beamdump::crash
