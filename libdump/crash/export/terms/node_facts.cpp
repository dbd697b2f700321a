#include <libdump/crash/export/terms/node_facts.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/term_scheme.h>

namespace beamdump::crash {

Result<NodeFacts> NodeFacts::read(Dump& dump) {
    NodeFacts facts;
    const records::Node& node = dump.node();
    facts.of_crash_dump = is_of_crash_dump(dump);
    if (facts.of_crash_dump && node.has_word_size() && node.word_size() == kWordBytes / 2) {
        facts.address_scale = 2;
    }
    facts.self = {dump.atoms().text(node.name_atom()).value_or("nonode@nohost"), node.creation()};
    for (const std::uint64_t offset : dump.trailer().fun_entries_offset()) {
        auto page =
            dump.reader().message_at<records::FunEntries>(offset, format::RecordKind::kFunEntries);
        if (!page) {
            return wrap("reading the fun table", std::move(page.error()));
        }
        for (const auto& entry : page->entry()) {
            facts.funs.insert_or_assign(
                entry.address(), FunEntry{entry.module_atom(), entry.index(),
                                          entry.has_old_index() ? entry.old_index() : entry.index(),
                                          entry.old_uniq(), entry.uniq()});
        }
    }
    return facts;
}

}  // namespace beamdump::crash
