#pragma once

#include <libvm/beam/layout/layout.h>

#include <optional>

namespace beamdump::beam {

// The fields of each C structure of the runtime that several readers use, resolved once from a
// layout. LayoutNames keeps the names that a layout lacks.

/// Hash and HashBucket (hash.h).
struct HashFields {
    explicit HashFields(LayoutNames& names);
    Field name, shift, count, bucket, next;
    std::uint32_t bytes;
};

/// IndexTable (index.h), which begins with a Hash.
struct IndexTableFields {
    explicit IndexTableFields(LayoutNames& names);
    Field name, entries, size, segments;
    std::uint32_t bytes;
};

/// ErtsPTab (erl_ptab.h).
struct IdTableFields {
    explicit IdTableFields(LayoutNames& names);
    Field tab, max, mask, count, invalid;
    /// Ids, counted: 4 and 8 bytes after `count` (erl_ptab.h, ErtsPTabVolatileData; OTP 25.2.3,
    /// 27.3.4.1 and 29.1.1). Older layout files do not have them.
    std::optional<Field> taken, freed;
    std::uint32_t bytes;
};

/// RegProc (register.h).
struct RegisteredFields {
    explicit RegisteredFields(LayoutNames& names);
    Field process, name;
    std::uint32_t bytes;
};

/// ProcDict (erl_process_dict.h).
struct DictionaryFields {
    explicit DictionaryFields(LayoutNames& names);
    Field used, array, elements, data;
    std::uint32_t bytes;
};

/// Binary and ErtsMagicBinary (erl_binary.h).
struct BinaryFields {
    explicit BinaryFields(LayoutNames& names);
    Field flags, references, size, content, magic_numbers, magic_data;
    std::uint64_t flag_magic;
    std::uint32_t bytes;
};

/// Heap objects that refer to a Binary: ProcBin up to OTP 26, BinRef from 27 on (global.h,
/// erl_bits.h), and magic references (erl_term.h).
struct BinaryReferenceFields {
    explicit BinaryReferenceFields(LayoutNames& names);
    Field binary, magic_binary;
    std::optional<Field> size, content;  ///< of a ProcBin
    std::uint32_t bytes, magic_bytes;
    std::uint64_t subtag, magic_subtag;
};

/// ErlFunEntry (erl_fun.h).
struct FunEntryFields {
    explicit FunEntryFields(LayoutNames& names);
    Field dispatch, module, arity, index, uniq, old_uniq, old_index;
    std::optional<Field> references;  ///< up to OTP 28
    std::uint32_t bytes;
};

/// Export (export.h).
struct ExportFields {
    explicit ExportFields(LayoutNames& names);
    Field dispatch, mfa;
    std::uint32_t bytes;
};

/// ErlNode (erl_node_tables.h).
struct NodeFields {
    explicit NodeFields(LayoutNames& names);
    Field references, name, creation;
    std::uint32_t bytes;
};

/// A pool of catches and its members (beam_catches.c).
struct CatchFields {
    explicit CatchFields(LayoutNames& names);
    Field free_list, high_mark, size, entries, code;
    std::uint32_t pool_bytes, entry_bytes;
};

/// BeamCodeHeader (beam_code.h).
struct CodeHeaderFields {
    explicit CodeHeaderFields(LayoutNames& names);
    Field num_functions, literal_area, line_table, md5, functions;
    std::uint32_t bytes;
};

/// A module's attributes, of BeamCodeHeader: term_to_binary/1 of them, in the block of its code
/// (asm_load.c, beam_load_finalize_code(), OTP 25 to 29).
struct CodeAttributeFields {
    explicit CodeAttributeFields(LayoutNames& names);
    Field address, size;
};

/// ErtsLiteralArea (global.h).
struct LiteralAreaFields {
    explicit LiteralAreaFields(LayoutNames& names);
    Field start, end;
};

/// ErtsCodeMFA (code_ix.h).
struct MfaFields {
    explicit MfaFields(LayoutNames& names);
    Field module, function, arity;
    std::uint32_t bytes;
};

/// ErtsMonLnkNode, half of a link or monitor (erl_monitor_link.h).
struct RelationNodeFields {
    explicit RelationNodeFields(LayoutNames& names);
    Field right, left, next, other, offset, flags;
    std::uint64_t flag_target, flag_name, flag_extended;
    std::optional<std::uint64_t>
        flag_in_table;  ///< no layout lacks it but older ones that are given
    std::uint32_t bytes;
};

/// ErtsMonitorData and what extends it, and ErtsILink (erl_monitor_link.h).
struct MonitorFields {
    explicit MonitorFields(LayoutNames& names);
    Field origin_other, target_other, reference, references;
    Field name;            ///< of an extended one
    Field suspend_state;   ///< of a suspension
    Field link_unlinking;  ///< of a link
    std::uint32_t bytes, heap_bytes, extended_bytes;
};

/// ErtsSignalInQueueBufferArray and its members (erl_process.h). In OTP 25 a queue counts its
/// messages, from 27 on those behind its last signal.
struct QueueBufferFields {
    explicit QueueBufferFields(LayoutNames& names);
    Field slots, first, last, length;
    std::uint32_t slot_bytes;
};

}  // namespace beamdump::beam
