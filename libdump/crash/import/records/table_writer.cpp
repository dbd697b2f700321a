#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/records/table_writer.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr auto kTableEntries = static_cast<int>(limits::kEntriesOfAPage);

class Writer {
  public:
    Writer(const Names& names, DumpWriter& writer, records::Trailer& trailer)
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

Result<void> Writer::atoms() {
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

Result<void> Writer::module(std::uint32_t name,
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
Result<void> Writer::code() {
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

Result<void> Writer::funs() {
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

Result<void> Writer::exports() {
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

Result<void> Writer::nodes(std::string_view own) {
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

Result<void> Writer::catches() {
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

Result<void> Writer::code_points() {
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

}  // namespace

Result<void> write_names(const Names& names, std::string_view node_name, DumpWriter& writer,
                         records::Trailer& trailer) {
    Writer tables(names, writer, trailer);
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

}  // namespace beamdump::crash
