#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/records/names_record.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>
#include <vector>

namespace beamdump::crash {

namespace {

constexpr auto kTableEntries = static_cast<int>(limits::kEntriesOfAPage);

class NamesWriter {
  public:
    NamesWriter(const Names& names, DumpWriter& writer, records::Trailer& trailer)
        : names_(names), writer_(writer), trailer_(trailer) {}

    Result<void> atoms();
    Result<void> code();
    Result<void> funs();
    Result<void> exports();
    Result<void> nodes(std::string_view own);
    Result<void> catches();
    Result<void> code_points();

  private:
    Result<void> module(std::uint32_t name, const std::map<std::uint64_t, Names::Code>& functions,
                        records::ModuleIndexPage& index);
    /// Writes a page unless it is empty, and clears it.
    template <typename Page>
    Result<void> flush(Page& page, int entries, format::RecordKind kind,
                       google::protobuf::RepeatedField<std::uint64_t>& offsets) {
        if (entries == 0) {
            return {};
        }
        auto done = append_noted(writer_, kind, page, offsets);
        page.Clear();
        return done;
    }

    const Names& names_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
};

Result<void> NamesWriter::atoms() {
    records::Atoms page;
    std::size_t bytes = 0;
    const auto flush_page = [&]() -> Result<void> {
        if (page.text_size() == 0) {
            return {};
        }
        auto done = append_atoms(writer_, page, trailer_);
        page.Clear();
        bytes = 0;
        return done;
    };
    for (const auto& [number, text] : names_.atoms()) {
        const bool follows =
            page.text_size() != 0 &&
            page.first_index() + static_cast<std::uint32_t>(page.text_size()) == number;
        if (!follows || page.text_size() >= static_cast<int>(limits::kAtomsOfAPage) ||
            bytes >= limits::kAtomTextOfAPage) {
            RETURN_IF_ERROR(flush_page());
            page.set_first_index(number);
        }
        page.add_text(text);
        bytes += text.size();
    }
    return flush_page();
}

Result<void> NamesWriter::module(std::uint32_t name,
                                 const std::map<std::uint64_t, Names::Code>& functions,
                                 records::ModuleIndexPage& index) {
    std::uint64_t last = 0;
    for (const auto& [start, code] : functions) {
        last = std::max(last, code.last);
    }
    records::Module module;
    module.set_name_atom(name);
    module.set_instance(records::MODULE_INSTANCE_UNKNOWN);
    module.set_code_start(functions.begin()->first);
    module.set_code_end(last + 1);
    RETURN_IF_ERROR(append_module(writer_, module, index));
    records::Functions page;
    std::uint32_t written = 0;
    for (auto next = functions.begin(); next != functions.end();) {
        page.set_first(written);
        for (; next != functions.end() &&
               page.arity_size() < static_cast<int>(limits::kFunctionsOfAPage);
             ++next) {
            page.add_start_address(next->first);
            page.add_name_atom(next->second.function_atom);
            page.add_arity(next->second.arity);
        }
        written += static_cast<std::uint32_t>(page.arity_size());
        RETURN_IF_ERROR(writer_.append(format::RecordKind::kFunctions, page));
        page.Clear();
    }
    return {};
}

/// Functions of one module are contiguous, except for those of an old version, which the text does
/// not distinguish: ranges are split where another module is between.
Result<void> NamesWriter::code() {
    struct Entry {
        std::uint32_t module = 0;
        std::uint64_t start = 0;
        Names::Code code;
    };
    std::vector<Entry> all;
    records::ModuleIndexPage index;
    for (const auto& [module, functions] : names_.code()) {
        if (functions.empty()) {
            records::Module named;
            named.set_name_atom(module);
            named.set_instance(records::MODULE_INSTANCE_UNKNOWN);
            RETURN_IF_ERROR(append_module(writer_, named, index));
        }
        for (const auto& [start, code] : functions) {
            all.push_back({module, start, code});
        }
    }
    std::ranges::sort(all, {}, &Entry::start);
    std::map<std::uint64_t, Names::Code> part;
    for (std::size_t next = 0; next < all.size(); ++next) {
        part.emplace(all[next].start, all[next].code);
        if (next + 1 < all.size() && all[next + 1].module == all[next].module) {
            continue;
        }
        RETURN_IF_ERROR(module(all[next].module, part, index));
        part.clear();
        if (index.module_size() >= limits::kModulesOfAPage) {
            RETURN_IF_ERROR(flush(index, index.module_size(), format::RecordKind::kModuleIndexPage,
                                  *trailer_.mutable_module_index_offset()));
        }
    }
    return flush(index, index.module_size(), format::RecordKind::kModuleIndexPage,
                 *trailer_.mutable_module_index_offset());
}

Result<void> NamesWriter::funs() {
    records::FunEntries page;
    for (const auto& [fun, address] : names_.funs()) {
        auto& entry = *page.add_entry();
        entry.set_address(address);
        entry.set_module_atom(fun.module_atom);
        entry.set_old_index(fun.index);
        entry.set_old_uniq(fun.uniq);
        entry.set_arity(fun.arity);
        if (page.entry_size() >= kTableEntries) {
            RETURN_IF_ERROR(flush(page, page.entry_size(), format::RecordKind::kFunEntries,
                                  *trailer_.mutable_fun_entries_offset()));
        }
    }
    return flush(page, page.entry_size(), format::RecordKind::kFunEntries,
                 *trailer_.mutable_fun_entries_offset());
}

Result<void> NamesWriter::exports() {
    records::Exports page;
    for (const auto& [function, address] : names_.exports()) {
        page.add_address(address);
        page.add_module_atom(function.module_atom);
        page.add_function_atom(function.function_atom);
        page.add_arity(function.arity);
        if (page.address_size() >= static_cast<int>(limits::kExportsOfAPage)) {
            RETURN_IF_ERROR(flush(page, page.address_size(), format::RecordKind::kExports,
                                  *trailer_.mutable_exports_offset()));
        }
    }
    return flush(page, page.address_size(), format::RecordKind::kExports,
                 *trailer_.mutable_exports_offset());
}

Result<void> NamesWriter::nodes(std::string_view own) {
    records::NodeEntries page;
    for (const auto& [node, address] : names_.nodes()) {
        auto& entry = *page.add_entry();
        entry.set_address(address);
        entry.set_name_atom(node.name_atom);
        entry.set_creation(node.creation);
        entry.set_channel(node.name_atom);
        entry.set_is_self(names_.atoms().at(node.name_atom) == own);
        if (page.entry_size() >= kTableEntries) {
            RETURN_IF_ERROR(flush(page, page.entry_size(), format::RecordKind::kNodeEntries,
                                  *trailer_.mutable_node_entries_offset()));
        }
    }
    return flush(page, page.entry_size(), format::RecordKind::kNodeEntries,
                 *trailer_.mutable_node_entries_offset());
}

Result<void> NamesWriter::catches() {
    records::Catches page;
    std::uint32_t index = 1;
    for (const auto address : names_.catches()) {
        if (page.code_address_size() == 0) {
            page.set_first_index(index);
        }
        page.add_code_address(address);
        ++index;
        if (page.code_address_size() >= kTableEntries) {
            RETURN_IF_ERROR(flush(page, page.code_address_size(), format::RecordKind::kCatches,
                                  *trailer_.mutable_catches_offset()));
        }
    }
    return flush(page, page.code_address_size(), format::RecordKind::kCatches,
                 *trailer_.mutable_catches_offset());
}

Result<void> NamesWriter::code_points() {
    records::CodePoints page;
    for (const auto& [address, shown] : names_.code_points()) {
        auto& point = *page.add_point();
        point.set_name(shown);
        point.set_address(address);
        point.set_shown_as(shown);
    }
    return flush(page, page.point_size(), format::RecordKind::kCodePoints,
                 *trailer_.mutable_code_points_offset());
}

class NamePages {
  public:
    NamePages(const Names& names, DumpWriter& writer) : names_(names), writer_(writer) {
        page_.set_next_atom(names.next_atom());
    }

    Result<void> save();

  private:
    /// An entry of so many bytes was added.
    Result<void> added(std::size_t bytes) {
        bytes_ += bytes + limits::kEntryBytes;
        return bytes_ < limits::kPackBytes ? Result<void>() : flush();
    }
    Result<void> flush() {
        RETURN_IF_ERROR(writer_.append(format::RecordKind::kCrashNames, page_));
        page_.Clear();
        bytes_ = 0;
        return {};
    }

    const Names& names_;
    DumpWriter& writer_;
    records::CrashNames page_;
    std::size_t bytes_ = 0;
};

Result<void> NamePages::save() {
    for (const auto& [number, text] : names_.atoms()) {
        page_.add_atom_number(number);
        page_.add_atom_text(text);
        page_.add_atom_found(names_.is_found(text, number));
        RETURN_IF_ERROR(added(text.size()));
    }
    for (const auto& [module, functions] : names_.code()) {
        for (const auto& [start, code] : functions) {
            auto& function = *page_.add_function();
            function.set_module_atom(module);
            function.set_function_atom(code.function_atom);
            function.set_arity(code.arity);
            function.set_start(start);
            function.set_last(code.last);
            RETURN_IF_ERROR(added(0));
        }
    }
    // Their addresses follow from their order.
    std::vector<const Names::Node*> nodes(names_.nodes().size());
    for (std::size_t place = 0; place < nodes.size(); ++place) {
        nodes[place] = names_.node_in_order(place);
    }
    for (const auto* node : nodes) {
        page_.add_node_name_atom(node->name_atom);
        page_.add_node_creation(node->creation);
        RETURN_IF_ERROR(added(0));
    }
    for (const auto& [address, shown] : names_.code_points()) {
        page_.add_code_point_address(address);
        page_.add_code_point_shown(shown);
        RETURN_IF_ERROR(added(shown.size()));
    }
    page_.set_last(true);
    return flush();
}

std::unexpected<Error> bad_names() {
    return fail(ErrorCode::kCorrupt, "the names kept of a crash dump contradict each other");
}

Result<void> restore_page(const records::CrashNames& page, Names& names) {
    const auto atoms = page.atom_number_size();
    const auto nodes = page.node_name_atom_size();
    const auto points = page.code_point_address_size();
    if (page.atom_text_size() != atoms || page.atom_found_size() != atoms ||
        page.node_creation_size() != nodes || page.code_point_shown_size() != points) {
        return bad_names();
    }
    for (int at = 0; at < atoms; ++at) {
        if (page.atom_number(at) >= names.next_atom() &&
            page.atom_number(at) < Names::kFirstNodeAtom) {
            return bad_names();
        }
        if (!names.restore_atom(page.atom_number(at), page.atom_text(at), page.atom_found(at))) {
            return bad_names();
        }
    }
    for (const auto& function : page.function()) {
        names.restore_code(function.module_atom(), function.start(),
                           {function.function_atom(), function.arity(), function.last()});
    }
    for (int at = 0; at < nodes; ++at) {
        if (!names.atoms().contains(page.node_name_atom(at))) {
            return bad_names();
        }
        names.node({page.node_name_atom(at), page.node_creation(at)});
    }
    for (int at = 0; at < points; ++at) {
        names.code_point(page.code_point_shown(at), page.code_point_address(at));
    }
    return names.check();
}

}  // namespace

Result<void> write_atoms(const Names& names, DumpWriter& writer, records::Trailer& trailer) {
    return NamesWriter(names, writer, trailer).atoms();
}

Result<void> write_names(const Names& names, std::string_view node_name, DumpWriter& writer,
                         records::Trailer& trailer) {
    NamesWriter tables(names, writer, trailer);
    auto done = tables.atoms();
    if (done) {
        done = tables.code();
    }
    if (done) {
        done = tables.funs();
    }
    if (done) {
        done = tables.exports();
    }
    if (done) {
        done = tables.nodes(node_name);
    }
    if (done) {
        done = tables.catches();
    }
    return done ? tables.code_points() : done;
}

Result<void> save_names(const Names& names, DumpWriter& writer) {
    if (!names.funs().empty() || !names.exports().empty() || !names.catches().empty()) {
        return fail(ErrorCode::kUsage, "the names of terms are not kept");
    }
    return NamePages(names, writer).save();
}

Result<void> restore_names(std::span<const records::CrashNames> pages, Names& names) {
    if (pages.empty() || pages.front().next_atom() < Names::kFirstAtom ||
        pages.front().next_atom() > Names::kFirstNodeAtom) {
        return bad_names();
    }
    names.restore_next_atom(pages.front().next_atom());
    for (const auto& page : pages) {
        RETURN_IF_ERROR(restore_page(page, names));
    }
    return {};
}

}  // namespace beamdump::crash
