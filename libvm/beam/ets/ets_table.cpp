#include <libvm/beam/ets/ets_table.h>

namespace beamdump::beam {

EtsTableFields::EtsTableFields(LayoutNames& names) {
    const auto field = [&](std::string_view text) { return names.field("DbTableCommon", text); };
    next = field("all.next");
    prev = field("all.prev");
    owner = field("owner");
    heir = field("heir");
    name = field("the_name");
    identifier = field("btid");
    status = field("status");
    key_position = field("keypos");
    compress = field("compress");
    fix_count = field("fix_count");
    decentralized = field("counters.is_decentralized");
    counters_length = field("counters.nr_of_counters");
    counters = field("counters.u");
    bytes = names.bytes("DbTableCommon");
    const auto flags = names.field("DbRwLock", "flags");
    lock = {field("rwlock").offset + flags.offset, flags.bytes};

    deleted = names.constant("ets_deleted");
    named = names.constant("ets_named");
    read_concurrency = names.constant("ets_read_concurrency");
    write_concurrency = names.constant("ets_write_concurrency");
    write_concurrency_auto = names.constant("ets_write_concurrency_auto");
    set = names.constant("ets_set");
    bag = names.constant("ets_bag");
    duplicate_bag = names.constant("ets_duplicate_bag");
    ordered_set = names.constant("ets_ordered_set");
    ca_ordered_set = names.constant("ets_ca_ordered_set");
    private_ = names.constant("ets_private");
    protected_ = names.constant("ets_protected");
    public_ = names.constant("ets_public");
}

}  // namespace beamdump::beam
