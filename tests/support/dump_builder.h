#pragma once

#include "support/memory_sink.h"
#include "support/process_columns.h"

#include <libdump/write/dump_writer.h>

#include <records.pb.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace beamdump::test {

/// How large a synthetic dump is.
struct DumpShape {
    std::uint64_t processes = 4;
    std::uint64_t heap_words = 32;     ///< of each process: a list of small integers
    std::uint64_t stack_words = 4;     ///< of each process: all NIL
    std::uint64_t packed_regions = 3;  ///< of each process: heap fragments of two words
    std::uint64_t messages = 2;        ///< of each process
    std::uint64_t literal_words = 16;
    std::uint64_t binaries = 3;
};

inline constexpr std::uint64_t kNil = 0x3b;  // OTP 25's empty list
inline constexpr std::uint64_t kHeapBase = 0x100000;
inline constexpr std::uint64_t kLiteralBase = 0x80000000;
inline constexpr std::uint64_t kBinaryBase = 0x90000000;

template <typename T>
T expect_value(Result<T> result) {
    if (!result) {
        throw std::runtime_error(result.error().message);
    }
    if constexpr (!std::is_void_v<T>) {
        return std::move(*result);
    }
}

/// Gives `words` to append_region().
inline DumpWriter::Fill fill_from(const std::vector<std::uint64_t>& words) {
    return [&words](std::uint64_t first, std::span<std::byte> bytes) -> Result<std::uint64_t> {
        const std::uint64_t count =
            std::min<std::uint64_t>(bytes.size() / 8, words.size() - std::min(first, words.size()));
        if (count != 0) {
            std::memcpy(bytes.data(), words.data() + first, count * 8);
        }
        return count;
    };
}

/// A list [0, 1, 2, ...] as OTP 25 holds it from `address` on: conses of two words each.
inline std::vector<std::uint64_t> list_words(std::uint64_t address, std::uint64_t words) {
    constexpr std::uint64_t kListTag = 1;
    constexpr std::uint64_t kSmallTag = 0xf;
    std::vector<std::uint64_t> result(words, kNil);
    for (std::uint64_t i = 0; i + 1 < words; i += 2) {
        result[i] = (i / 2) << 4U | kSmallTag;
        result[i + 1] = i + 3 < words ? (address + (i + 2) * 8) | kListTag : kNil;
    }
    return result;
}

/// Writes a small dump of every kind of record, in the order that dump-format.md gives, through
/// DumpWriter. Use add_*() for the parts and finish(), or whole().
class DumpBuilder {
  public:
    explicit DumpBuilder(const DumpWriterOptions& options, const DumpShape& shape = {})
        : shape_(shape),
          content_(std::make_shared<SinkContent>()),
          writer_(
              expect_value(DumpWriter::create(std::make_unique<MemorySink>(content_), options))) {}

    [[nodiscard]] DumpWriter& writer() { return *writer_; }
    [[nodiscard]] records::Trailer& trailer() { return trailer_; }

    void add_node() {
        records::Capture capture;
        capture.set_tool_version("test");
        capture.set_mode(records::CAPTURE_MODE_FREEZE);
        trailer_.set_capture_offset(append(format::RecordKind::kCapture, capture));
        records::Epoch epoch;
        epoch.set_number(1);
        epoch.set_source(records::MEMORY_SOURCE_STOPPED);
        trailer_.add_epoch_offset(append(format::RecordKind::kEpoch, epoch));
        records::Node node;
        node.set_otp_release("25");
        node.set_word_size(8);
        node.set_little_endian(true);
        node.set_term_scheme(static_cast<std::uint32_t>(format::TermScheme::kOtp25));
        node.set_name_atom(2);
        trailer_.set_node_offset(append(format::RecordKind::kNode, node));
    }

    void add_atoms(std::uint32_t first, const std::vector<std::string>& texts) {
        records::Atoms atoms;
        atoms.set_first_index(first);
        for (const std::string& text : texts) {
            atoms.add_text(text);
        }
        auto* page = trailer_.add_atoms();
        page->set_first_index(first);
        page->set_count(static_cast<std::uint32_t>(texts.size()));
        page->set_offset(append(format::RecordKind::kAtoms, atoms));
        trailer_.mutable_totals()->set_atoms(first + texts.size());
    }

    void add_code() {
        records::Module module;
        module.set_name_atom(3);
        module.set_instance(records::MODULE_INSTANCE_CURRENT);
        module.set_code_start(0x7000);
        module.set_code_end(0x8000);
        records::ModuleIndexPage page;
        auto* ref = page.add_module();
        ref->set_name_atom(3);
        ref->set_instance(records::MODULE_INSTANCE_CURRENT);
        ref->set_code_start(0x7000);
        ref->set_code_end(0x8000);
        ref->set_offset(append(format::RecordKind::kModule, module));
        records::Functions functions;
        functions.add_start_address(0x7000);
        functions.add_name_atom(4);
        functions.add_arity(2);
        append(format::RecordKind::kFunctions, functions);
        records::Lines lines;
        lines.add_address(0x7040);
        lines.add_location(12);
        append(format::RecordKind::kLines, lines);
        records::Catches catches;
        catches.set_first_index(0);
        catches.add_code_address(0x7080);
        trailer_.add_catches_offset(append(format::RecordKind::kCatches, catches));
        trailer_.add_module_index_offset(append(format::RecordKind::kModuleIndexPage, page));
    }

    void add_literals() {
        records::RunDirectory directory;
        *directory.add_region() =
            add_region(format::OwnerKind::kNode, 0, format::RegionKind::kLiterals, kLiteralBase,
                       list_words(kLiteralBase, shape_.literal_words));
        trailer_.set_literals_directory_offset(
            append(format::RecordKind::kRunDirectory, directory));
    }

    /// Appends a region that is whole and gives the reference that a directory holds.
    records::RegionRef add_region(format::OwnerKind owner, std::uint64_t owner_id,
                                  format::RegionKind kind, std::uint64_t address,
                                  const std::vector<std::uint64_t>& words) {
        const format::RegionHeader header{.owner_kind = owner,
                                          .region_kind = kind,
                                          .term_scheme = format::TermScheme::kOtp25,
                                          .owner_id = owner_id,
                                          .address = address,
                                          .total = words.size()};
        const auto placed = expect_value(writer_->append_region(header, fill_from(words)));
        records::RegionRef ref;
        ref.set_kind(static_cast<std::uint32_t>(kind));
        ref.set_address(address);
        ref.set_total(words.size());
        ref.set_here(placed.here);
        ref.set_offset(placed.offset);
        ref.set_striped(placed.striped);
        return ref;
    }

    /// A whole run. `void_reason` other than NONE closes it as void.
    void add_process(std::uint64_t number,
                     records::VoidReason void_reason = records::VOID_REASON_NONE) {
        const std::uint64_t base = kHeapBase + number * 0x100000;
        const std::uint64_t owner = format::owner_id_of(number, 0);
        const records::Process process = process_record(number);
        records::ProcessEnd end;
        end.set_owner_id(owner);
        end.set_begin_offset(append(format::RecordKind::kProcess, process));
        records::Relations relations;
        relations.add_link()->set_other_word(number << 4U | 3U);
        add_pack(*end.mutable_directory()->add_relations(),
                 append(format::RecordKind::kRelations, relations), 1);
        *end.mutable_directory()->add_region() =
            add_region(format::OwnerKind::kProcess, owner, format::RegionKind::kHeap, base,
                       list_words(base, shape_.heap_words));
        *end.mutable_directory()->add_region() =
            add_region(format::OwnerKind::kProcess, owner, format::RegionKind::kStack,
                       base + 0x80000, std::vector<std::uint64_t>(shape_.stack_words, kNil));
        add_fragments(base, *end.mutable_directory());
        add_messages(*end.mutable_directory());
        end.set_void_reason(void_reason);
        end.set_words_captured(shape_.heap_words + shape_.stack_words);
        end.set_memory_bytes(8 * (shape_.heap_words + shape_.stack_words) + number);
        const std::uint64_t end_offset = append(format::RecordKind::kProcessEnd, end);
        add_row(process, end, end_offset);
    }

    void add_binaries() {
        records::Binaries binaries;
        for (std::uint64_t i = 0; i < shape_.binaries; ++i) {
            auto* binary = binaries.add_binary();
            binary->set_address(kBinaryBase + i * 64);
            binary->set_data_address(kBinaryBase + i * 64 + 24);
            binary->set_size_bytes(100 + i);
            binary->set_references(1 + i);
            binary->set_prefix("prefix " + std::to_string(i));
        }
        const std::uint64_t offset = append(format::RecordKind::kBinaries, binaries);
        records::BinaryIndexPage page;
        for (const auto& binary : binaries.binary()) {
            page.add_address(binary.address());
            page.add_record_offset(offset);
        }
        auto* ref = trailer_.add_binary_pages();
        ref->set_lowest_address(kBinaryBase);
        ref->set_highest_address(kBinaryBase + (shape_.binaries - 1) * 64);
        ref->set_count(shape_.binaries);
        ref->set_offset(append(format::RecordKind::kBinaryIndexPage, page));
        trailer_.mutable_totals()->set_binaries(shape_.binaries);
    }

    void add_process_index() { add_process_index(rows_); }

    void add_process_index(const std::vector<records::ProcessRow>& rows) {
        auto* page = trailer_.add_process_pages();
        page->set_rows(rows.size());
        page->mutable_column_offset()->Resize(records::ProcessColumnKind_ARRAYSIZE, 0);
        for (int kind = 1; kind < records::ProcessColumnKind_ARRAYSIZE; ++kind) {
            records::ProcessColumn column;
            column.set_first_row(0);
            column.set_column(static_cast<records::ProcessColumnKind>(kind));
            for (const records::ProcessRow& row : rows) {
                column.add_value_plus_one(value_plus_one(row, kind));
            }
            page->set_column_offset(kind, append(format::RecordKind::kProcessColumn, column));
        }
        trailer_.mutable_totals()->set_processes(rows.size());
    }

    /// Trailer, tail and seek table; gives the whole file.
    std::vector<std::byte> finish() {
        expect_value(writer_->finish(trailer_));
        return content_->bytes;
    }

    /// Drops the writer, as one that failed or was abandoned: the file has no end then.
    std::vector<std::byte> abandon() {
        writer_.reset();
        return content_->bytes;
    }

    /// A dump with all parts.
    static std::vector<std::byte> whole(const DumpWriterOptions& options,
                                        const DumpShape& shape = {}) {
        DumpBuilder builder(options, shape);
        builder.add_all();
        return builder.finish();
    }

    void add_all() {
        add_node();
        add_atoms(0, {"false", "true", "node@host", "lists", "reverse"});
        add_code();
        add_literals();
        for (std::uint64_t number = 1; number <= shape_.processes; ++number) {
            add_process(number);
        }
        add_binaries();
        add_atoms(5, {"late", "atom"});
        add_process_index();
    }

    std::uint64_t append(format::RecordKind kind, const google::protobuf::MessageLite& message) {
        return expect_value(writer_->append(kind, message));
    }

  private:
    records::Process process_record(std::uint64_t number) const {
        records::Process process;
        process.set_owner_id(format::owner_id_of(number, 0));
        process.set_pid_word(number << 4U | 3U);
        process.set_epoch(1);
        process.set_status("waiting");
        process.set_heap_words(shape_.heap_words);
        process.set_stack_words(shape_.stack_words);
        process.set_reductions(1000 * number);
        process.set_message_queue_length(shape_.messages);
        auto* call = process.mutable_initial_call();
        call->set_module_atom(3);
        call->set_function_atom(4);
        call->set_arity(2);
        return process;
    }

    static void add_pack(records::PackRef& ref, std::uint64_t offset, std::uint64_t count) {
        ref.set_offset(offset);
        ref.set_count(count);
    }

    void add_fragments(std::uint64_t base, records::RunDirectory& directory) {
        if (shape_.packed_regions == 0) {
            return;
        }
        records::PackedRegions packed;
        for (std::uint64_t i = 0; i < shape_.packed_regions; ++i) {
            auto* region = packed.add_region();
            region->set_kind(static_cast<std::uint32_t>(format::RegionKind::kHeapFragment));
            region->set_address(base + 0x90000 + i * 32);
            region->set_total_words(2);
            region->add_words(i << 4U | 0xfU);
            region->add_words(kNil);
        }
        auto* ref = directory.add_packed_regions();
        add_pack(*ref, append(format::RecordKind::kPackedRegions, packed), shape_.packed_regions);
        ref->set_lowest_address(base + 0x90000);
        ref->set_highest_address(base + 0x90000 + (shape_.packed_regions - 1) * 32 + 16);
    }

    void add_messages(records::RunDirectory& directory) {
        if (shape_.messages == 0) {
            return;
        }
        records::Messages messages;
        messages.set_first_index(0);
        for (std::uint64_t i = 0; i < shape_.messages; ++i) {
            auto* message = messages.add_entry();
            message->set_queue(records::QUEUE_KIND_INNER);
            message->set_kind(records::MESSAGE_KIND_HEAP);
            message->set_term_word(i << 4U | 0xfU);
        }
        add_pack(*directory.add_messages(), append(format::RecordKind::kMessages, messages),
                 shape_.messages);
    }

    void add_row(const records::Process& process, const records::ProcessEnd& end,
                 std::uint64_t end_offset) {
        auto& row = rows_.emplace_back();
        row.set_owner_id(end.owner_id());
        row.set_begin_offset(end.begin_offset());
        row.set_end_offset(end_offset);
        row.set_void_reason(end.void_reason());
        row.set_memory_bytes(end.memory_bytes());
        row.set_reductions(process.reductions());
        row.set_message_queue_length(process.message_queue_length());
        *row.mutable_initial_call() = process.initial_call();
        row.set_status(records::PROCESS_STATUS_WAITING);
        row.set_heap_words(process.heap_words());
        row.set_stack_words(process.stack_words());
    }

    DumpShape shape_;
    std::shared_ptr<SinkContent> content_;
    std::optional<DumpWriter> writer_;
    records::Trailer trailer_;
    std::vector<records::ProcessRow> rows_;
};

}  // namespace beamdump::test
