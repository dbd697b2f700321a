#include "capture/activity/distribution.h"

#include "capture/activity/warnings.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/activity/distribution.h>

namespace beamdump::capture {

Result<void> write_distribution(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                                const beam::Moving& moving) {
    auto reader = beam::DistributionReader::open(vm);
    if (!reader) {
        const auto& other = vm.tables().other;
        trailer.add_warning("connections to other nodes: " +
                            (other.distribution || other.not_found.empty()
                                 ? reader.error().message
                                 : other.not_found.back()));
        return {};
    }
    // Only the table's walk, before the first page, is repeated.
    const auto left = beam::read_steadily(moving, vm, [&] {
        return reader->read(limits::kEntriesOfAPage, [&](records::DistributionEntries& page) {
            return append_noted(writer, format::RecordKind::kDistributionEntries, page,
                                *trailer.mutable_distribution_offset());
        });
    });
    if (!left && (left.error().code == ErrorCode::kImplausible ||
                  left.error().code == ErrorCode::kUnmapped)) {
        trailer.add_warning("connections to other nodes: " + left.error().message);
        return {};
    }
    if (!left) {
        return std::unexpected(left.error());
    }
    warn_of_connections(*left, trailer);
    return {};
}

}  // namespace beamdump::capture
