#include <libvm/beam/layout/structs.h>

namespace beamdump::beam {

HashFields::HashFields(LayoutNames& names)
    : name(names.field("Hash", "name")),
      shift(names.field("Hash", "shift")),
      count(names.field("Hash", "nobjs")),
      bucket(names.field("Hash", "bucket")),
      next(names.field("HashBucket", "next")),
      bytes(names.bytes("Hash")) {}

IndexTableFields::IndexTableFields(LayoutNames& names)
    : name(names.field("IndexTable", "htable.name")),
      entries(names.field("IndexTable", "entries")),
      size(names.field("IndexTable", "size")),
      segments(names.field("IndexTable", "seg_table")),
      bytes(names.bytes("IndexTable")) {}

IdTableFields::IdTableFields(LayoutNames& names)
    : tab(names.field("ErtsPTab", "tab")),
      max(names.field("ErtsPTab", "max")),
      mask(names.field("ErtsPTab", "pix_mask")),
      count(names.field("ErtsPTab", "vola.count")),
      invalid(names.field("ErtsPTab", "invalid_element")),
      bytes(names.bytes("ErtsPTab")) {}

RegisteredFields::RegisteredFields(LayoutNames& names)
    : process(names.field("RegProc", "p")),
      name(names.field("RegProc", "name")),
      bytes(names.bytes("RegProc")) {}

DictionaryFields::DictionaryFields(LayoutNames& names)
    : used(names.field("ProcDict", "usedSlots")),
      array(names.field("ProcDict", "arraySize")),
      elements(names.field("ProcDict", "numElements")),
      data(names.field("ProcDict", "data")),
      bytes(names.bytes("ProcDict")) {}

BinaryFields::BinaryFields(LayoutNames& names)
    : flags(names.field("Binary", "flags")),
      references(names.field("Binary", "refc")),
      size(names.field("Binary", "orig_size")),
      content(names.field("Binary", "orig_bytes")),
      magic_numbers(names.field("ErtsMagicBinary", "refn")),
      magic_data(names.field("ErtsMagicBinary", "unaligned_data")),
      flag_magic(names.constant("binary_flag_magic")),
      bytes(names.bytes("Binary")) {}

BinaryReferenceFields::BinaryReferenceFields(LayoutNames& names)
    : binary(names.field({{"ProcBin", "val"}, {"BinRef", "val"}})),
      magic_binary(names.field("MagicRef", "mb")),
      size(names.field_if_any("ProcBin", "size")),
      content(names.field_if_any("ProcBin", "bytes")),
      bytes(names.bytes(names.has_structure("ProcBin") ? "ProcBin" : "BinRef")),
      magic_bytes(names.bytes("MagicRef")),
      subtag(names.constant({"refc_binary_subtag", "bin_ref_subtag"})),
      magic_subtag(names.constant("reference_subtag")) {}

FunEntryFields::FunEntryFields(LayoutNames& names)
    : dispatch(names.field("ErlFunEntry", "dispatch")),
      module(names.field("ErlFunEntry", "module")),
      arity(names.field("ErlFunEntry", "arity")),
      index(names.field("ErlFunEntry", "index")),
      uniq(names.field("ErlFunEntry", "uniq")),
      old_uniq(names.field("ErlFunEntry", "old_uniq")),
      old_index(names.field("ErlFunEntry", "old_index")),
      references(names.field_if_any("ErlFunEntry", "refc")),
      bytes(names.bytes("ErlFunEntry")) {}

ExportFields::ExportFields(LayoutNames& names)
    : dispatch(names.field("Export", "dispatch")),
      mfa(names.field("Export", "info.mfa")),
      bytes(names.bytes("Export")) {}

NodeFields::NodeFields(LayoutNames& names)
    : references(names.field("ErlNode", "refc")),
      name(names.field("ErlNode", "sysname")),
      creation(names.field("ErlNode", "creation")),
      bytes(names.bytes("ErlNode")) {}

CatchFields::CatchFields(LayoutNames& names)
    : free_list(names.field("CatchPool", "free_list")),
      high_mark(names.field("CatchPool", "high_mark")),
      size(names.field("CatchPool", "tabsize")),
      entries(names.field("CatchPool", "beam_catches")),
      code(names.field("BeamCatch", "cp")),
      pool_bytes(names.bytes("CatchPool")),
      entry_bytes(names.bytes("BeamCatch")) {}

CodeHeaderFields::CodeHeaderFields(LayoutNames& names)
    : num_functions(names.field("BeamCodeHeader", "num_functions")),
      literal_area(names.field("BeamCodeHeader", "literal_area")),
      line_table(names.field("BeamCodeHeader", "line_table")),
      md5(names.field("BeamCodeHeader", "md5_ptr")),
      functions(names.field("BeamCodeHeader", "functions")),
      bytes(names.bytes("BeamCodeHeader")) {}

CodeAttributeFields::CodeAttributeFields(LayoutNames& names)
    : address(names.field("CodeAttributes", "attr_ptr")),
      size(names.field("CodeAttributes", "attr_size")) {}

LiteralAreaFields::LiteralAreaFields(LayoutNames& names)
    : start(names.field("ErtsLiteralArea", "start")), end(names.field("ErtsLiteralArea", "end")) {}

MfaFields::MfaFields(LayoutNames& names)
    : module(names.field("ErtsCodeMFA", "module")),
      function(names.field("ErtsCodeMFA", "function")),
      arity(names.field("ErtsCodeMFA", "arity")),
      bytes(names.bytes("ErtsCodeMFA")) {}

RelationNodeFields::RelationNodeFields(LayoutNames& names)
    : right(names.field("ErtsMonLnkNode", "tree.right")),
      left(names.field("ErtsMonLnkNode", "tree.left")),
      next(names.field("ErtsMonLnkNode", "list.next")),
      other(names.field("ErtsMonLnkNode", "other")),
      offset(names.field("ErtsMonLnkNode", "offset")),
      flags(names.field("ErtsMonLnkNode", "flags")),
      flag_target(names.constant("relation_flag_target")),
      flag_name(names.constant("relation_flag_name")),
      flag_extended(names.constant("relation_flag_extended")),
      flag_in_table(names.constant_if_any("relation_flag_in_table")),
      bytes(names.bytes("ErtsMonLnkNode")) {}

MonitorFields::MonitorFields(LayoutNames& names)
    : origin_other(names.field("ErtsMonitorData", "origin.other")),
      target_other(names.field("ErtsMonitorData", "target.other")),
      reference(names.field("ErtsMonitorData", "ref")),
      references(names.field("ErtsMonitorData", "refc")),
      name(names.field("ErtsMonitorDataExtended", "name")),
      suspend_state(names.field("ErtsMonitorSuspend", "state")),
      link_unlinking(names.field("ErtsILink", "unlinking")),
      bytes(names.bytes("ErtsMonitorData")),
      heap_bytes(names.bytes("ErtsMonitorDataHeap")),
      extended_bytes(names.bytes("ErtsMonitorDataExtended")) {}

QueueBufferFields::QueueBufferFields(LayoutNames& names)
    : slots(names.field("ErtsSignalInQueueBufferArray", "slots")),
      first(names.field("ErtsSignalInQueueBuffer", "queue.first")),
      last(names.field("ErtsSignalInQueueBuffer", "queue.last")),
      length(names.field({{"ErtsSignalInQueueBuffer", "queue.len"},
                          {"ErtsSignalInQueueBuffer", "queue.mlenoffs"}})),
      slot_bytes(names.bytes("ErtsSignalInQueueBuffer")) {}

}  // namespace beamdump::beam
