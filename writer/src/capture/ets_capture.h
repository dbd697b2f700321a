#pragma once

#include "beam/ets/ets_reader.h"
#include "capture/copy/region_copier.h"

namespace beamdump::capture {

/// Writes the node's ETS tables. What could not be found or read is absent, with a warning: it
/// never fails a capture.
class EtsCapture {
  public:
    /// Non-owning.
    EtsCapture(beam::Vm& vm, RegionCopier& copier, records::Trailer& trailer)
        : vm_(vm), copier_(copier), trailer_(trailer) {}

    /// Facts of all tables. `here`: the node is on this machine.
    Result<void> tables(const beam::Moving& moving, bool here);

  private:
    Result<void> write(const std::vector<beam::EtsTableView>& tables);

    beam::Vm& vm_;
    RegionCopier& copier_;
    records::Trailer& trailer_;
};

}  // namespace beamdump::capture
