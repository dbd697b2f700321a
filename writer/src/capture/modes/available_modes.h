#pragma once

#include <libdump/base/architecture.h>
#include <libdump/base/error.h>
#include <libvm/arch/host.h>

#include <records.pb.h>

#include <string>

namespace beamdump::capture {

/// What a program can do to a running node on the architecture that it is built for.
struct Abilities {
    Architecture architecture = kOwnArchitecture;
    bool stops = arch::host::kStops;
    bool makes_twins = arch::host::kMakesTwins;
};

/// kUnsupported: the mode needs what is not possible. Auto is always available.
Result<void> check_mode(records::CaptureMode mode, const Abilities& abilities = {});

/// What mode auto does where a node cannot be stopped ("reads ..."); empty: it can be.
std::string auto_shortcoming(const Abilities& abilities = {});

}  // namespace beamdump::capture
