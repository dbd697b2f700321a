#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/heap_lines.h>
#include <libdump/crash/import/records/run_writer.h>
#include <libdump/crash/import/words/stack_parser.h>
#include <libdump/crash/text/byte_parser.h>
#include <libdump/format/crash_regions.h>
#include <libdump/format/process_row.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>

namespace beamdump::crash {

namespace {

constexpr std::uint64_t kRunWordBytes = WordImage::kWordBytes;
// Addresses for a stack without return addresses and for the dictionary's slots, which the text
// does not have; nothing refers to them.
constexpr std::uint64_t kStackPlace = 0x0F40'0000'0000'0000;
constexpr std::uint64_t kDictionaryPlace = 0x0F50'0000'0000'0000;

constexpr std::uint64_t kMaxCachedAtoms = 4096;

}  // namespace

Result<records::ProcessRow> RunWriter::write(const ProcessSections& sections, ParsedProcess facts,
                                             Extent extent) {
    owner_ = sections.owner_id;
    records_.begin();
    run_words_ = 0;
    root_counts_ = {};
    heap_counts_ = {};
    lazy_heap_.reset();
    const bool has_terms = sections.stack.has_value();
    const bool with_terms = has_terms && extent != Extent::kFacts;
    if (with_terms) {
        auto done = extent == Extent::kWhole ? read_heap(sections) : open_heap(sections);
        if (done) {
            done = read_terms(sections, facts.process);
        }
        if (!done) {
            return std::unexpected(done.error());
        }
    }
    ASSIGN_OR_RETURN(auto begin, writer_.append(format::RecordKind::kProcess, facts.process));
    records::ProcessEnd end;
    if (with_terms) {
        auto done = write_regions(facts);
        if (done) {
            done = write_messages(sections);
        }
        if (!done) {
            return std::unexpected(done.error());
        }
        if (!lazy_heap_) {
            end.set_words_captured(run_words_);
        }
        end.set_queue_entries(records_.messages());
        words_ += run_words_;
    }
    note_counts(end);
    for (const auto& page : facts.relations) {
        RETURN_IF_ERROR(records_.relations(page));
    }
    RETURN_IF_ERROR(records_.finish(*end.mutable_directory()));
    auto reason = records::VOID_REASON_NONE;
    if (!has_terms) {
        const auto status = status_of_name(facts.process.status());
        reason = status == records::PROCESS_STATUS_EXITING ? records::VOID_REASON_EXITING
                 : status == records::PROCESS_STATUS_GARBAGE_COLLECTING
                     ? records::VOID_REASON_COLLECTING
                     : records::VOID_REASON_UNREADABLE;
        end.set_detail(dump_.cut_off().empty()
                           ? "the crash dump has no stack and no heap of it"
                           : "the crash dump breaks off before its stack and heap");
    }
    end.set_owner_id(owner_);
    end.set_void_reason(reason);
    end.set_begin_offset(begin);
    if (facts.memory_bytes) {
        end.set_memory_bytes(*facts.memory_bytes);
    }
    if (facts.has_relations) {
        end.set_links(facts.links);
        end.set_monitors(facts.monitors);
        facts.counts.set(end);
    }
    ASSIGN_OR_RETURN(auto offset, writer_.append(format::RecordKind::kProcessEnd, end));
    records::ProcessRow row;
    set_row(facts.process, end, offset, row);
    // Known only where the stack's lines were read (DumpForm::indexed_stack_sizes).
    row.clear_stack_words();
    return row;
}

Result<void> RunWriter::read_heap(const ProcessSections& sections) {
    heap_.clear();
    if (!sections.heap) {
        return {};
    }
    TextCursor text(dump_.text(), sections.heap->begin, sections.heap->end);
    HeapParser objects(format_, names_, heap_, node_.literals,
                       [this](std::uint64_t address) { return binaries_.want(address); });
    auto counts = objects.read(text, reached_);
    // With the beginnings of all known: another object may reach over one that was left out.
    if (counts && !counts->objects.empty()) {
        counts = read_again(
            dump_.text(), *sections.heap, format_, names_, heap_, node_.literals,
            [this](std::uint64_t address) { return binaries_.want(address); }, dump_.budget());
    }
    if (!counts) {
        return std::unexpected(counts.error());
    }
    heap_counts_ = std::move(*counts);
    return {};
}

Result<void> RunWriter::open_heap(const ProcessSections& sections) {
    lazy_heap_ = std::make_unique<LazyHeap>(dump_, node_);
    return sections.heap ? lazy_heap_->open(*sections.heap) : Result<void>();
}

/// The stack's words, and its address from those of its return addresses (erl_process_dump.c,
/// stack_element_dump()).
Result<void> RunWriter::read_stack(const ProcessSections& sections, records::Process& process) {
    stack_.clear();
    StackParser lines(TextCursor(dump_.text(), sections.stack->begin, sections.stack->end), format_,
                      names_, process.instruction_address());
    stack_words_ = 0;
    while (const auto word = lines.next()) {
        RETURN_IF_ERROR(names_.check());
        RETURN_IF_ERROR(stack_.put(stack_words_ * kRunWordBytes, *word));
        ++stack_words_;
    }
    if (lines.error()) {
        return std::unexpected(*lines.error());
    }
    root_counts_.add(lines.counts());
    const auto top = lines.top();
    process.set_stack_words(stack_words_);
    process.set_stack_top_address(top.value_or(kStackPlace));
    const auto end = process.stack_top_address() + stack_words_ * kRunWordBytes;
    process.set_heap_end_address(end);
    if (top && process.has_heap_words() && process.heap_words() * kRunWordBytes <= end) {
        process.set_heap_address(end - process.heap_words() * kRunWordBytes);
        if (process.has_heap_used_words()) {
            process.set_heap_top_address(process.heap_address() +
                                         process.heap_used_words() * kRunWordBytes);
        }
    }
    return {};
}

Result<void> RunWriter::read_dictionary(const ProcessSections& sections) {
    dictionary_.clear();
    dictionary_words_ = 0;
    if (!sections.dictionary) {
        return {};
    }
    TextCursor text(dump_.text(), sections.dictionary->begin, sections.dictionary->end);
    while (!text.at_end()) {
        RETURN_IF_ERROR(names_.check());
        const auto begin = text.position();
        const auto word = take_element(text, format_, names_);
        if (!word || !text.take_line_end()) {
            root_counts_.add_malformed(begin);
            text.skip_line();
            continue;
        }
        RETURN_IF_ERROR(dictionary_.put(dictionary_words_ * kRunWordBytes, *word));
        ++dictionary_words_;
    }
    return text.error() ? Result<void>(std::unexpected(*text.error())) : Result<void>();
}

/// A stretch may extend over the heap's bounds and over the stack, which has its own words:
/// fragments of messages may be closer than a gap.
Result<void> RunWriter::write_regions(const ParsedProcess& facts) {
    const auto& process = facts.process;
    RETURN_IF_ERROR(write_region(format::RegionKind::kStack, process.stack_top_address(), stack_, 0,
                                 stack_words_));
    RETURN_IF_ERROR(write_region(format::RegionKind::kDictionary, kDictionaryPlace, dictionary_, 0,
                                 dictionary_words_));
    if (lazy_heap_) {
        return {};
    }
    ASSIGN_OR_RETURN(auto stretches, heap_.stretches(kGapWords));
    const auto heap = process.heap_address();
    const auto stack = process.stack_top_address();
    const auto stack_end = stack + stack_words_ * kRunWordBytes;
    for (const auto& stretch : stretches) {
        const auto end = stretch.address + stretch.words * kRunWordBytes;
        // In up to three parts: before the heap, in it up to the stack, after it.
        for (auto at = stretch.address; at < end;) {
            if (at >= stack && at < stack_end) {
                at = stack_end;
                continue;
            }
            auto stop = end;
            for (const auto border : {heap, stack}) {
                stop = border > at ? std::min(stop, border) : stop;
            }
            const auto kind = place_in_crash_dump(process, !node_.literals.empty(), at);
            RETURN_IF_ERROR(write_region(kind, at, heap_, at, (stop - at) / kRunWordBytes));
            at = stop;
        }
    }
    return {};
}

Result<void> RunWriter::write_region(format::RegionKind kind, std::uint64_t address,
                                     WordImage& image, std::uint64_t from, std::uint64_t words) {
    if (words == 0) {
        return {};
    }
    format::RegionHeader header;
    header.owner_kind = format::OwnerKind::kProcess;
    header.owner_id = owner_;
    header.region_kind = kind;
    header.address = address;
    header.total = words;
    ASSIGN_OR_RETURN(auto ref,
                     append_words(writer_, header, image, from, objects(), format_.words));
    run_words_ += ref.here();
    return records_.region(std::move(ref));
}

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

/// The unusable lines, so that answers from the dump report the same as answers from the text.
void RunWriter::note_counts(records::ProcessEnd& end) {
    const auto note = [](const TextCounts& counts, auto&& into) {
        if (!counts.empty()) {
            *into() = counts.record();
        }
    };
    note(root_counts_, [&end] { return end.mutable_root_lines(); });
    note(heap_counts_.lines, [&end] { return end.mutable_heap_lines(); });
    note(heap_counts_.objects, [&end] { return end.mutable_left_out(); });
    for (const auto& object : heap_counts_.left_out) {
        end.add_left_out_address(object.address);
        end.add_left_out_offset(object.offset);
        end.add_left_out_overlaps(object.overlaps);
    }
    counts_.add(root_counts_);
    counts_.add(heap_counts_.all());
}

Result<void> RunWriter::read_terms(const ProcessSections& sections, records::Process& process) {
    auto done = read_stack(sections, process);
    if (done) {
        done = read_dictionary(sections);
    }
    return done ? binaries_.flush() : done;
}

}  // namespace beamdump::crash
