#pragma once

#include <records.pb.h>

#include <cstdint>

namespace beamdump::test {

inline std::uint64_t part_plus_one(const records::Mfa& call, int part) {
    return 1ULL + (part == 0   ? call.module_atom()
                   : part == 1 ? call.function_atom()
                               : call.arity());
}

/// The value of a row in a column of the process index, as its pages have it: one more, 0 for none.
inline std::uint64_t value_plus_one(const records::ProcessRow& row, int kind) {
    switch (kind) {
        case records::PROCESS_COLUMN_OWNER_ID:
            return row.owner_id() + 1;
        case records::PROCESS_COLUMN_BEGIN_OFFSET:
            return row.begin_offset() + 1;
        case records::PROCESS_COLUMN_END_OFFSET:
            return row.end_offset() + 1;
        case records::PROCESS_COLUMN_VOID_REASON:
            return static_cast<std::uint64_t>(row.void_reason()) + 1;
        case records::PROCESS_COLUMN_MEMORY_BYTES:
            return row.memory_bytes() + 1;
        case records::PROCESS_COLUMN_REDUCTIONS:
            return row.reductions() + 1;
        case records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH:
            return row.message_queue_length() + 1;
        case records::PROCESS_COLUMN_REGISTERED_NAME:
            return row.has_registered_name_atom() ? row.registered_name_atom() + 1ULL : 0;
        case records::PROCESS_COLUMN_INITIAL_MODULE:
        case records::PROCESS_COLUMN_INITIAL_FUNCTION:
        case records::PROCESS_COLUMN_INITIAL_ARITY:
            return row.has_initial_call()
                       ? part_plus_one(row.initial_call(),
                                       kind - records::PROCESS_COLUMN_INITIAL_MODULE)
                       : 0;
        case records::PROCESS_COLUMN_CURRENT_MODULE:
        case records::PROCESS_COLUMN_CURRENT_FUNCTION:
        case records::PROCESS_COLUMN_CURRENT_ARITY:
            return row.has_current_function()
                       ? part_plus_one(row.current_function(),
                                       kind - records::PROCESS_COLUMN_CURRENT_MODULE)
                       : 0;
        case records::PROCESS_COLUMN_STATUS:
            return static_cast<std::uint64_t>(row.status()) + 1;
        case records::PROCESS_COLUMN_HEAP_WORDS:
            return row.heap_words() + 1;
        case records::PROCESS_COLUMN_STACK_WORDS:
            return row.stack_words() + 1;
        case records::PROCESS_COLUMN_TRANSLATED_MODULE:
        case records::PROCESS_COLUMN_TRANSLATED_FUNCTION:
        case records::PROCESS_COLUMN_TRANSLATED_ARITY:
            return row.has_translated_initial_call()
                       ? part_plus_one(row.translated_initial_call(),
                                       kind - records::PROCESS_COLUMN_TRANSLATED_MODULE)
                       : 0;
        case records::PROCESS_COLUMN_STATE_BITS:
            return row.has_state_bits() ? row.state_bits() + 1ULL : 0;
        case records::PROCESS_COLUMN_FLAGS:
            return row.has_flags() ? row.flags() + 1ULL : 0;
        case records::PROCESS_COLUMN_LINKED:
            return row.has_linked() ? row.linked() + 1 : 0;
        case records::PROCESS_COLUMN_MONITORED:
            return row.has_monitored() ? row.monitored() + 1 : 0;
        case records::PROCESS_COLUMN_MONITORED_BY:
            return row.has_monitored_by() ? row.monitored_by() + 1 : 0;
        case records::PROCESS_COLUMN_TRACE_FLAGS:
            return row.has_trace_flags() ? row.trace_flags() + 1ULL : 0;
        case records::PROCESS_COLUMN_NAMING_KEYS_ABSENT:
            return row.has_naming_keys_absent() ? row.naming_keys_absent() + 1ULL : 0;
        default:
            return 0;  // unknown
    }
}

}  // namespace beamdump::test
