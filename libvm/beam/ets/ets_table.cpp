#include <libvm/beam/ets/ets_table.h>
#include <libvm/beam/layout/runtime_names.h>

namespace beamdump::beam {

EtsTableFields::EtsTableFields(LayoutNames& names) {
    next = names.field(runtime::DbTableCommon::all_next);
    prev = names.field(runtime::DbTableCommon::all_prev);
    owner = names.field(runtime::DbTableCommon::owner);
    heir = names.field(runtime::DbTableCommon::heir);
    name = names.field(runtime::DbTableCommon::the_name);
    identifier = names.field(runtime::DbTableCommon::btid);
    status = names.field(runtime::DbTableCommon::status);
    key_position = names.field(runtime::DbTableCommon::keypos);
    compress = names.field(runtime::DbTableCommon::compress);
    fix_count = names.field(runtime::DbTableCommon::fix_count);
    fixers = names.field(runtime::DbTableCommon::fixing_procs);
    fixed_monotonic = names.field(runtime::DbTableCommon::time_monotonic);
    fixed_offset = names.field(runtime::DbTableCommon::time_offset);
    decentralized = names.field(runtime::DbTableCommon::counters_is_decentralized);
    counters_length = names.field(runtime::DbTableCommon::counters_nr_of_counters);
    counters = names.field(runtime::DbTableCommon::counters_u);
    bytes = names.bytes(runtime::DbTableCommon::kName);
    const auto flags = names.field(runtime::DbRwLock::flags);
    lock = {names.field(runtime::DbTableCommon::rwlock).offset + flags.offset, flags.bytes};

    deleted = names.constant(runtime::constant::ets_deleted);
    named = names.constant(runtime::constant::ets_named);
    read_concurrency = names.constant(runtime::constant::ets_read_concurrency);
    write_concurrency = names.constant(runtime::constant::ets_write_concurrency);
    write_concurrency_auto =
        names.constant_if_any(runtime::constant::ets_write_concurrency_auto).value_or(0);
    set = names.constant(runtime::constant::ets_set);
    bag = names.constant(runtime::constant::ets_bag);
    duplicate_bag = names.constant(runtime::constant::ets_duplicate_bag);
    ordered_set = names.constant(runtime::constant::ets_ordered_set);
    ca_ordered_set = names.constant(runtime::constant::ets_ca_ordered_set);
    private_ = names.constant(runtime::constant::ets_private);
    protected_ = names.constant(runtime::constant::ets_protected);
    public_ = names.constant(runtime::constant::ets_public);
}

}  // namespace beamdump::beam
