#pragma once

#include "capture/copy/binary_store.h"
#include "capture/copy/run_writer.h"
#include "capture/node/capture_options.h"
#include "capture/node/work_counts.h"
#include "capture/secrets/cookie.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libvm/beam/layout/layout.h>
#include <libvm/beam/processes/translated_call.h>
#include <libvm/beam/tables/modules.h>
#include <libvm/beam/tables/node_tables.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beamdump::capture {

/// What is not known for certain of a layout that was not made for the node's release, or not
/// compared with the node's patch of it; nothing, where it was.
struct LayoutDoubts {
    std::vector<std::string> unverified_fields;  ///< "Process.reds": no check can see them
    std::vector<std::string> inferred_from;      ///< "otp-27"
    std::vector<std::string> left_out;           ///< parts of which nothing is read
    /// Of a layout for the release: the node's version of ERTS is none of those.
    std::optional<beam::ComparedVersions> other_than;

    /// What is not known, in words, if there is anything to say.
    [[nodiscard]] std::optional<std::string> sentence(const beam::VmFacts& node,
                                                      const beam::Layout& layout) const;
};

/// Writes the pages of small tables of the node, and again those of tables that changed since. A
/// table is read once more to find that out: it may be too large to be held.
class TablePages {
  public:
    template <typename Page>
    using Read = std::function<Result<void>(const beam::TakePage<Page>&)>;

    /// `offsets` gets those of a table that was read to its end.
    template <typename Page>
    Result<void> write(DumpWriter& writer, format::RecordKind kind, const Read<Page>& read,
                       google::protobuf::RepeatedField<std::uint64_t>& offsets) {
        std::size_t print = 0;
        const auto add = [&print](const Page& page) {
            print = print * 31 + std::hash<std::string>()(page.SerializeAsString());
        };
        const auto known = prints_.find(kind);
        if (known != prints_.end()) {
            RETURN_IF_ERROR(read([&](const Page& page) -> Result<void> {
                add(page);
                return {};
            }));
            if (std::exchange(print, 0) == known->second) {
                return {};
            }
        }
        google::protobuf::RepeatedField<std::uint64_t> written;
        RETURN_IF_ERROR(read([&](const Page& page) -> Result<void> {
            add(page);
            return append_noted(writer, kind, page, written);
        }));
        prints_[kind] = print;
        offsets.MergeFrom(written);
        return {};
    }

    /// Pages of a table that is held as a whole.
    template <typename Page>
    static Read<Page> held(Result<std::vector<Page>> pages) {
        return [pages = std::move(pages)](const beam::TakePage<Page>& take) -> Result<void> {
            if (!pages) {
                return std::unexpected(pages.error());
            }
            for (const auto& page : *pages) {
                RETURN_IF_ERROR(take(page));
            }
            return {};
        };
    }

  private:
    std::map<format::RecordKind, std::size_t> prints_;
};

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
    /// CaptureOptions::history. kIo, kCorrupt.
    Result<void> history(const std::filesystem::path& file);
    /// For the trailer: what the node did since capture_record(), in which time it was `stopped`
    /// for so long. Counts that cannot be read are absent.
    void meanwhile(std::chrono::nanoseconds stopped);
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
    /// The space of all atoms that were written.
    [[nodiscard]] const beam::AtomSpace& atom_space() const { return atom_space_; }
    /// Of the atoms that were written.
    [[nodiscard]] const beam::DictionaryKeys& dictionary_keys() const { return dictionary_keys_; }

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
    beam::DictionaryKeys dictionary_keys_;
    std::uint32_t exports_ = 0;  // written
    std::set<std::pair<memory::Address, records::ModuleInstance>> modules_;
    TablePages tables_;
    std::unordered_map<memory::Address, std::size_t> literal_prints_;
    WorkCounts work_;  // as the capture began
};

}  // namespace beamdump::capture
