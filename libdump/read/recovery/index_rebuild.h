#pragma once

#include <libdump/format/format.h>
#include <libdump/read/frames/frame.h>
#include <libdump/read/recovered_index.h>

#include <records.pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

namespace beamdump {

/// Rebuilds a lost trailer and its index pages from all records in order.
class IndexRebuilder {
  public:
    /// Adds a frame's records. Frames are in order; the contents of gaps are unknown.
    void add(const Frame& frame);

    /// The dump's own trailer, if its record was among the frames.
    [[nodiscard]] const std::optional<records::Trailer>& own_trailer() const {
        return own_trailer_;
    }

    /// Ends the walk: completes totals and top lists. Call once.
    void finish();
    [[nodiscard]] records::Trailer& trailer() { return trailer_; }
    [[nodiscard]] RecoveredIndex& index() { return index_; }

  private:
    void take(format::RecordKind kind, std::uint64_t offset, std::span<const std::byte> payload);
    void take_capture(format::RecordKind kind, std::uint64_t offset,
                      std::span<const std::byte> payload);
    void take_atoms(std::uint64_t offset, std::span<const std::byte> payload);
    void take_module(std::uint64_t offset, std::span<const std::byte> payload);
    void take_region(std::uint64_t offset, std::span<const std::byte> payload);
    void take_binaries(std::uint64_t offset, std::span<const std::byte> payload);
    void open_process(std::span<const std::byte> payload);
    void close_process(std::uint64_t offset, std::span<const std::byte> payload);
    void keep_row(records::ProcessRow row);
    bool parse(std::span<const std::byte> payload, google::protobuf::MessageLite& message);

    records::Trailer trailer_;
    std::optional<records::Trailer> own_trailer_;
    RecoveredIndex index_;
    std::optional<records::Process> open_;  // whose run has no end yet
    std::unordered_map<std::uint64_t, std::size_t> row_of_owner_;
    std::uint64_t unparsed_ = 0;
};

}  // namespace beamdump
