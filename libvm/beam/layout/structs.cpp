#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/structs.h>

namespace beamdump::beam {

HashFields::HashFields(LayoutNames& names)
    : name(names.field(runtime::Hash::name)),
      shift(names.field(runtime::Hash::shift)),
      count(names.field(runtime::Hash::nobjs)),
      bucket(names.field(runtime::Hash::bucket)),
      next(names.field(runtime::HashBucket::next)),
      bytes(names.bytes(runtime::Hash::kName)) {}

IndexTableFields::IndexTableFields(LayoutNames& names)
    : name(names.field(runtime::IndexTable::htable_name)),
      entries(names.field(runtime::IndexTable::entries)),
      size(names.field(runtime::IndexTable::size)),
      segments(names.field(runtime::IndexTable::seg_table)),
      bytes(names.bytes(runtime::IndexTable::kName)) {}

IdTableFields::IdTableFields(LayoutNames& names)
    : tab(names.field(runtime::ErtsPTab::tab)),
      max(names.field(runtime::ErtsPTab::max)),
      mask(names.field(runtime::ErtsPTab::pix_mask)),
      count(names.field(runtime::ErtsPTab::vola_count)),
      invalid(names.field(runtime::ErtsPTab::invalid_element)),
      taken(names.field_if_any(runtime::ErtsPTab::vola_aid_ix)),
      freed(names.field_if_any(runtime::ErtsPTab::vola_fid_ix)),
      bytes(names.bytes(runtime::ErtsPTab::kName)) {}

RegisteredFields::RegisteredFields(LayoutNames& names)
    : process(names.field(runtime::RegProc::p)),
      name(names.field(runtime::RegProc::name)),
      bytes(names.bytes(runtime::RegProc::kName)) {}

DictionaryFields::DictionaryFields(LayoutNames& names)
    : used(names.field(runtime::ProcDict::usedSlots)),
      array(names.field(runtime::ProcDict::arraySize)),
      elements(names.field(runtime::ProcDict::numElements)),
      data(names.field(runtime::ProcDict::data)),
      bytes(names.bytes(runtime::ProcDict::kName)) {}

BinaryFields::BinaryFields(LayoutNames& names)
    : flags(names.field(runtime::Binary::flags)),
      references(names.field(runtime::Binary::refc)),
      size(names.field(runtime::Binary::orig_size)),
      content(names.field(runtime::Binary::orig_bytes)),
      magic_numbers(names.field(runtime::ErtsMagicBinary::refn)),
      magic_data(names.field(runtime::ErtsMagicBinary::unaligned_data)),
      flag_magic(names.constant(runtime::constant::binary_flag_magic)),
      bytes(names.bytes(runtime::Binary::kName)) {}

BinaryReferenceFields::BinaryReferenceFields(LayoutNames& names)
    : binary(names.field({runtime::ProcBin::val, runtime::BinRef::val})),
      magic_binary(names.field(runtime::MagicRef::mb)),
      size(names.field_if_any(runtime::ProcBin::size)),
      content(names.field_if_any(runtime::ProcBin::bytes)),
      bytes(names.bytes(names.has_structure(runtime::ProcBin::kName) ? runtime::ProcBin::kName
                                                                     : runtime::BinRef::kName)),
      magic_bytes(names.bytes(runtime::MagicRef::kName)),
      subtag(names.constant(
          {runtime::constant::refc_binary_subtag, runtime::constant::bin_ref_subtag})),
      magic_subtag(names.constant(runtime::constant::reference_subtag)) {}

FunEntryFields::FunEntryFields(LayoutNames& names)
    : dispatch(names.field(runtime::ErlFunEntry::dispatch)),
      module(names.field(runtime::ErlFunEntry::module)),
      arity(names.field(runtime::ErlFunEntry::arity)),
      index(names.field(runtime::ErlFunEntry::index)),
      uniq(names.field(runtime::ErlFunEntry::uniq)),
      old_uniq(names.field(runtime::ErlFunEntry::old_uniq)),
      old_index(names.field(runtime::ErlFunEntry::old_index)),
      references(names.field_if_any(runtime::ErlFunEntry::refc)),
      bytes(names.bytes(runtime::ErlFunEntry::kName)) {}

ExportFields::ExportFields(LayoutNames& names)
    : dispatch(names.field(runtime::Export::dispatch)),
      mfa(names.field(runtime::Export::info_mfa)),
      bytes(names.bytes(runtime::Export::kName)) {}

NodeFields::NodeFields(LayoutNames& names)
    : references(names.field(runtime::ErlNode::refc)),
      name(names.field(runtime::ErlNode::sysname)),
      creation(names.field(runtime::ErlNode::creation)),
      bytes(names.bytes(runtime::ErlNode::kName)) {}

CatchFields::CatchFields(LayoutNames& names)
    : free_list(names.field(runtime::CatchPool::free_list)),
      high_mark(names.field(runtime::CatchPool::high_mark)),
      size(names.field(runtime::CatchPool::tabsize)),
      entries(names.field(runtime::CatchPool::beam_catches)),
      code(names.field(runtime::BeamCatch::cp)),
      pool_bytes(names.bytes(runtime::CatchPool::kName)),
      entry_bytes(names.bytes(runtime::BeamCatch::kName)) {}

CodeHeaderFields::CodeHeaderFields(LayoutNames& names)
    : num_functions(names.field(runtime::BeamCodeHeader::num_functions)),
      literal_area(names.field(runtime::BeamCodeHeader::literal_area)),
      line_table(names.field(runtime::BeamCodeHeader::line_table)),
      md5(names.field(runtime::BeamCodeHeader::md5_ptr)),
      functions(names.field(runtime::BeamCodeHeader::functions)),
      bytes(names.bytes(runtime::BeamCodeHeader::kName)) {}

CodeAttributeFields::CodeAttributeFields(LayoutNames& names)
    : address(names.field(runtime::CodeAttributes::attr_ptr)),
      size(names.field(runtime::CodeAttributes::attr_size)) {}

LiteralAreaFields::LiteralAreaFields(LayoutNames& names)
    : start(names.field(runtime::ErtsLiteralArea::start)),
      end(names.field(runtime::ErtsLiteralArea::end)) {}

MfaFields::MfaFields(LayoutNames& names)
    : module(names.field(runtime::ErtsCodeMFA::module)),
      function(names.field(runtime::ErtsCodeMFA::function)),
      arity(names.field(runtime::ErtsCodeMFA::arity)),
      bytes(names.bytes(runtime::ErtsCodeMFA::kName)) {}

RelationNodeFields::RelationNodeFields(LayoutNames& names)
    : right(names.field(runtime::ErtsMonLnkNode::tree_right)),
      left(names.field(runtime::ErtsMonLnkNode::tree_left)),
      next(names.field(runtime::ErtsMonLnkNode::list_next)),
      other(names.field(runtime::ErtsMonLnkNode::other)),
      offset(names.field(runtime::ErtsMonLnkNode::offset)),
      flags(names.field(runtime::ErtsMonLnkNode::flags)),
      flag_target(names.constant(runtime::constant::relation_flag_target)),
      flag_name(names.constant(runtime::constant::relation_flag_name)),
      flag_extended(names.constant(runtime::constant::relation_flag_extended)),
      flag_in_table(names.constant_if_any(runtime::constant::relation_flag_in_table)),
      bytes(names.bytes(runtime::ErtsMonLnkNode::kName)) {}

MonitorFields::MonitorFields(LayoutNames& names)
    : origin_other(names.field(runtime::ErtsMonitorData::origin_other)),
      target_other(names.field(runtime::ErtsMonitorData::target_other)),
      reference(names.field(runtime::ErtsMonitorData::ref)),
      references(names.field(runtime::ErtsMonitorData::refc)),
      name(names.field(runtime::ErtsMonitorDataExtended::name)),
      suspend_state(names.field(runtime::ErtsMonitorSuspend::state)),
      link_unlinking(names.field(runtime::ErtsILink::unlinking)),
      bytes(names.bytes(runtime::ErtsMonitorData::kName)),
      heap_bytes(names.bytes(runtime::ErtsMonitorDataHeap::kName)),
      extended_bytes(names.bytes(runtime::ErtsMonitorDataExtended::kName)) {}

QueueBufferFields::QueueBufferFields(LayoutNames& names)
    : slots(names.field(runtime::ErtsSignalInQueueBufferArray::slots)),
      first(names.field(runtime::ErtsSignalInQueueBuffer::queue_first)),
      last(names.field(runtime::ErtsSignalInQueueBuffer::queue_last)),
      length(names.field({runtime::ErtsSignalInQueueBuffer::queue_len,
                          runtime::ErtsSignalInQueueBuffer::queue_mlenoffs})),
      slot_bytes(names.bytes(runtime::ErtsSignalInQueueBuffer::kName)) {}

}  // namespace beamdump::beam
