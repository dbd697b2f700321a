#pragma once

#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>

#include <table_records.pb.h>

namespace beamdump::beam {

/// DbTableCommon (erl_db_util.h), the beginning of every table's structure, and what `status` says.
struct EtsTableFields {
    explicit EtsTableFields(LayoutNames& names);
    Field next, prev, owner, heir, name, identifier, status, key_position, compress, fix_count;
    Field lock;  ///< the word of the table's lock that says who holds it
    Field fixers, fixed_monotonic, fixed_offset;
    Field decentralized, counters_length, counters;
    std::uint32_t bytes;

    std::uint64_t deleted, named, read_concurrency, write_concurrency, write_concurrency_auto;
    std::uint64_t set, bag, duplicate_bag, ordered_set, ca_ordered_set;
    std::uint64_t private_, protected_, public_;
};

/// One table, as its structure was at one moment.
struct EtsTableView {
    Address address = 0;
    std::uint64_t owner_word = 0;
    std::uint64_t status = 0;
    records::EtsTable facts;
};

}  // namespace beamdump::beam
