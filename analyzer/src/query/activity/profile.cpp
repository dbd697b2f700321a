#include "query/activity/profile.h"

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::query {
namespace {

SamplePages pages_of(Dump& dump, SamplesBy by) {
    return {by, [&dump](std::uint32_t atom) { return std::optional(atom_text(dump, atom)); },
            [&dump](const records::Mfa& call) { return mfa_text(dump, call); }};
}

}  // namespace

Result<ProfileReport> read_profile(Dump& dump, const std::string& file, SamplesBy by,
                                   SamplePages::Visit visit) {
    if (dump.trailer().samples_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no samples: beamdump-capture takes them with --profile 5s");
    }
    auto pages = pages_of(dump, by);
    pages.visit(std::move(visit));
    for (const auto offset : dump.trailer().samples_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Samples>(
                                              offset, format::RecordKind::kSamples));
        RETURN_IF_ERROR(pages.add(page));
    }
    ASSIGN_OR_RETURN(auto report, pages.finish());
    const auto facts = dump_facts(dump, file);
    report.node = facts.node_name.value_or("a node of unknown name");
    report.otp_release = dump.node().otp_release();
    report.pid = static_cast<pid_t>(dump.capture().os_pid());
    return report;
}

Result<ProfileReport> profile_of(Dump& dump, const records::Samples& samples) {
    auto pages = pages_of(dump, SamplesBy::kNone);
    RETURN_IF_ERROR(pages.add(samples));
    return pages.finish();
}

}  // namespace beamdump::query
