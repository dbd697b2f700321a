// The part of CrashDump that keeps what belongs to the whole text, and reads it back.

#include <libdump/base/return_if_error.h>
#include <libdump/crash/text/crash_dump.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr std::uint64_t kBinaryMemory = 96;  // about, as while the text is scanned
constexpr int kBinariesOfARecord = 2048;

records::CrashSpan saved(const Span& span) {
    records::CrashSpan into;
    into.set_begin(span.begin);
    into.set_bytes(span.end - span.begin);
    return into;
}

std::unexpected<Error> bad_index(std::string_view what) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the index kept of a crash dump does not fit its text: {}", what));
}

}  // namespace

Result<void> CrashDump::save(const std::function<Result<void>(records::CrashIndex&)>& take) const {
    records::CrashIndex page;
    *page.mutable_header() = saved(header_lines_);
    const auto keep = [](const std::optional<Span>& span, auto&& into) {
        if (span) {
            *into() = saved(*span);
        }
    };
    keep(literals_, [&page] { return page.mutable_literals(); });
    keep(memory_, [&page] { return page.mutable_memory(); });
    keep(atom_table_, [&page] { return page.mutable_atom_table(); });
    keep(loaded_modules_, [&page] { return page.mutable_loaded_modules(); });
    keep(persistent_terms_, [&page] { return page.mutable_persistent_terms(); });
    page.set_node_name(node_name_);
    page.set_cut_off(cut_off_);
    page.set_version(header_.version);
    page.set_elixir(has_elixir_);
    if (next_dump_) {
        page.set_next_dump(*next_dump_);
    }
    if (const auto modules = counts_.find("mod"); modules != counts_.end()) {
        page.set_modules(modules->second);
    }
    page.set_binaries(binaries_.size());
    for (const auto& [address, lines] : binaries_) {
        if (page.binary_begin_size() == kBinariesOfARecord) {
            RETURN_IF_ERROR(take(page));
            page.Clear();
        }
        page.add_binary_address(address);
        page.add_binary_begin(lines.begin);
        page.add_binary_bytes(lines.end - lines.begin);
    }
    return take(page);
}

Result<Span> CrashDump::span_of(const records::CrashSpan& span) const {
    if (span.begin() > text_.size() || span.bytes() > text_.size() - span.begin()) {
        return bad_index("a section reaches beyond its end");
    }
    return Span{span.begin(), span.begin() + span.bytes()};
}

Result<void> CrashDump::restore_whole(const records::CrashIndex& head) {
    ASSIGN_OR_RETURN(const auto lines, span_of(head.header()));
    header_.version = head.version();
    RETURN_IF_ERROR(read_header(lines));
    struct Kept {
        bool there = false;
        const records::CrashSpan& span;
        std::optional<Span>& into;
    };
    for (const auto& [there, span, into] :
         {Kept{head.has_literals(), head.literals(), literals_},
          Kept{head.has_memory(), head.memory(), memory_},
          Kept{head.has_atom_table(), head.atom_table(), atom_table_},
          Kept{head.has_loaded_modules(), head.loaded_modules(), loaded_modules_},
          Kept{head.has_persistent_terms(), head.persistent_terms(), persistent_terms_}}) {
        if (there) {
            ASSIGN_OR_RETURN(into, span_of(span));
        }
    }
    node_name_ = head.node_name();
    cut_off_ = head.cut_off();
    has_elixir_ = head.elixir();
    if (head.has_next_dump()) {
        if (head.next_dump() > text_.size()) {
            return bad_index("another dump begins beyond its end");
        }
        next_dump_ = head.next_dump();
    }
    if (head.has_modules()) {
        counts_.emplace("mod", head.modules());
    }
    return {};
}

Result<void> CrashDump::restore_binaries(const records::CrashIndex& page) {
    const auto count = page.binary_address_size();
    if (page.binary_begin_size() != count || page.binary_bytes_size() != count) {
        return bad_index("its binaries have no places");
    }
    for (int at = 0; at < count; ++at) {
        records::CrashSpan span;
        span.set_begin(page.binary_begin(at));
        span.set_bytes(page.binary_bytes(at));
        ASSIGN_OR_RETURN(const auto lines, span_of(span));
        const auto address = page.binary_address(at);
        if (!binaries_.empty() && address < binaries_.back().first) {
            return bad_index("its binaries are not in order");
        }
        binaries_.emplace_back(address, lines);
        budget_->use_memory(kBinaryMemory);
    }
    return budget_->check_memory();
}

Result<CrashDump> CrashDump::restore(TextSource text, std::unique_ptr<Budget> budget,
                                     std::span<const records::CrashIndex> index) {
    CrashDump dump(std::move(text), std::move(budget));
    RETURN_IF_ERROR(dump.check_begin());
    if (index.empty()) {
        return bad_index("it is empty");
    }
    RETURN_IF_ERROR(dump.restore_whole(index.front()));
    for (const auto& page : index) {
        RETURN_IF_ERROR(dump.restore_binaries(page));
    }
    if (dump.binaries_.size() != index.front().binaries()) {
        return bad_index("binaries are missing");
    }
    return dump;
}

records::CrashPlaces CrashDump::places_of(const ProcessSections& process) {
    records::CrashPlaces places;
    *places.mutable_facts() = saved(process.facts);
    const auto keep = [](const std::optional<Span>& span, auto&& into) {
        if (span) {
            *into() = saved(*span);
        }
    };
    keep(process.messages, [&places] { return places.mutable_messages(); });
    keep(process.dictionary, [&places] { return places.mutable_dictionary(); });
    keep(process.stack, [&places] { return places.mutable_stack(); });
    keep(process.heap, [&places] { return places.mutable_heap(); });
    return places;
}

Result<ProcessSections> CrashDump::sections_at(std::uint64_t owner_id,
                                               const records::CrashPlaces& places) const {
    ProcessSections process;
    process.owner_id = owner_id;
    ASSIGN_OR_RETURN(process.facts, span_of(places.facts()));
    struct Kept {
        bool there = false;
        const records::CrashSpan& span;
        std::optional<Span>& into;
    };
    for (const auto& [there, span, into] :
         {Kept{places.has_messages(), places.messages(), process.messages},
          Kept{places.has_dictionary(), places.dictionary(), process.dictionary},
          Kept{places.has_stack(), places.stack(), process.stack},
          Kept{places.has_heap(), places.heap(), process.heap}}) {
        if (there) {
            ASSIGN_OR_RETURN(into, span_of(span));
        }
    }
    return process;
}

}  // namespace beamdump::crash
