#pragma once

#include "capture/capture.h"
#include "capture/copy/binary_store.h"
#include "capture/copy/run_writer.h"
#include "capture/layout_doubts.h"
#include "capture/secrets/cookie.h"
#include "capture/tables/table_pages.h"

#include <libvm/beam/tables/modules.h>

#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace beamdump::capture {

/// Writes what belongs to the node as a whole: Capture and Node records, atoms, code, tables,
/// literals. Fills in the trailer's references.
class NodeCapture {
  public:
    NodeCapture(beam::Vm& vm, RegionCopier& copier, Cookies& cookies, records::Trailer& trailer)
        : vm_(vm), copier_(copier), cookies_(cookies), trailer_(trailer) {}

    Result<void> capture_record(const CaptureOptions& options, const LayoutDoubts& doubts,
                                std::int64_t started_us, std::int64_t started_monotonic_ns);
    /// Samples that were taken before the capture. kTargetDied: of a process that had this id
    /// before.
    Result<void> samples(const ProfileReport& report);
    Result<void> epoch(std::uint32_t number, records::MemorySourceKind source);
    Result<void> node(const std::vector<beam::ModuleCode>& modules);
    /// These three write what they have not written before: all of it at first, then what came.
    Result<void> atoms();
    Result<void> modules(const std::vector<beam::ModuleCode>& modules);
    Result<void> tables();
    /// The node's ports. Those that cannot be read are skipped, and the trailer says so.
    Result<void> ports();
    /// All literals, or of later calls the pages that changed. Also notes the binaries that
    /// literals refer to. Memory: 8 bytes a page.
    Result<void> literals(BinaryStore& binaries);
    /// Says in the place of literals() that they are not wanted.
    Result<void> no_literals();

    [[nodiscard]] const std::string& name() const { return name_; }
    /// Of all atoms that were written.
    [[nodiscard]] const beam::AtomSpace& atom_space() const { return atom_space_; }
    /// The atom of beam::TranslatedCalls' key, where it is among those that were written.
    [[nodiscard]] std::optional<std::uint32_t> initial_call_atom() const {
        return initial_call_atom_;
    }

  private:
    Result<void> module(const beam::ModuleCode& code, beam::ModuleReader& reader,
                        records::ModuleIndexPage& index);
    Result<std::uint64_t> append(format::RecordKind kind,
                                 const google::protobuf::MessageLite& message) {
        return copier_.writer().append(kind, message);
    }
    Result<void> exports();
    Result<void> literals_directory(RunWriter& run);
    Result<std::vector<memory::AddressRange>> changed_pages(
        std::span<const memory::AddressRange> parts);

    beam::Vm& vm_;
    RegionCopier& copier_;
    Cookies& cookies_;
    records::Trailer& trailer_;
    std::string name_;
    std::uint32_t atoms_ = 0;  // written
    beam::AtomSpace atom_space_;
    std::optional<std::uint32_t> initial_call_atom_;
    std::uint32_t exports_ = 0;  // written
    std::set<std::pair<memory::Address, records::ModuleInstance>> modules_;
    TablePages tables_;
    std::unordered_map<memory::Address, std::size_t> literal_prints_;
};

}  // namespace beamdump::capture
