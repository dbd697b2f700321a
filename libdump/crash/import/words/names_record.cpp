#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/words/names_record.h>
#include <libdump/write/record_limits.h>

#include <vector>

namespace beamdump::crash {
namespace {

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
