#pragma once

#include "sample_process.h"
#include "support/dump_builder.h"

#include <libdump/profile/sample_pages.h>

namespace beamdump::test {

/// Six samples: four of process 1, one of a process that is not in the dump, and one of a thread
/// that runs none.
inline void add_profile(DumpBuilder& builder) {
    ProfileReport report{.node = {},
                         .otp_release = {},
                         .began_us = 1'700'000'090'000'000,
                         .took_ns = 5'000'000'000,
                         .rate = 99,
                         .profile = Profile(SamplesBy::kNone)};
    report.lost = 2;
    report.delay_ns = 1000;
    report.longest_delay_ns = 9000;
    report.log.emplace();
    const SampledThread scheduler{17, "erts_sched_1", "scheduler 1"};
    SampleStack stack{.kind = SampleKind::kExact,
                      .frames = {"lists:sort/1", "alpha:loop/1"},
                      .process = ProcessIdentity{.owner_id = format::owner_id_of(1, 0),
                                                 .registered_atom = kAlphaAtom}};
    for (int count = 0; count < 3; ++count) {
        report.log->add(stack, scheduler);
    }
    stack.kind = SampleKind::kReadAfter;
    stack.native = {"[kernel]", "write"};
    stack.fragment = "<call_nif_shared>";
    report.log->add(stack, scheduler);
    report.log->add({.kind = SampleKind::kFunctionOnly,
                     .unknown = UnknownCallers::kHalfMadeFrame,
                     .frames = {"beta:run/0"},
                     .process = ProcessIdentity{.owner_id = format::owner_id_of(900, 0),
                                                .initial_call_atoms =
                                                    FunctionAtoms{kModuleAtom, kAlphaAtom, 2}}},
                    scheduler);
    report.log->add({.kind = SampleKind::kOtherThread, .native = {"poll"}}, {18, "async_1", {}});
    // What writes never fails here.
    (void)sample_pages(report, [&](const records::Samples& page) -> Result<void> {
        builder.trailer().add_samples_offset(builder.append(format::RecordKind::kSamples, page));
        return {};
    });
}

}  // namespace beamdump::test
