#include <libdump/redact/field_rules.h>

#include <array>

namespace beamdump::redact::rules {
namespace {

using enum FieldRule;
template <std::size_t N>
using ProfileFields = std::array<FieldDecision, N>;

constexpr ProfileFields kNotSampledFields = std::to_array<FieldDecision>({
    {1, 1, kSentence},
    {2, 2, kKeep},
});
constexpr MessageRules kNotSampled{"ThreadsNotSampled", kNotSampledFields};
constexpr ProfileFields kTimeFields = std::to_array<FieldDecision>({
    {1, 10, kKeep},
    {11, 11, kMessage, &kNotSampled},
    {12, 12, kSentence},
    {13, 13, kKeep},
});
constexpr MessageRules kTime{"SampledTime", kTimeFields};
constexpr ProfileFields kSampledProcessFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kMessage, &kMfa},
});
constexpr MessageRules kSampledProcess{"SampledProcess", kSampledProcessFields};
constexpr ProfileFields kThreadFields = std::to_array<FieldDecision>({
    {1, 1, kKeep},
    {2, 3, kKeepText},
});
constexpr MessageRules kThread{"SampledThread", kThreadFields};
constexpr ProfileFields kSampledCodeFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kMfa}, {2, 2, kKeepText},  // of native and shared code
});
constexpr MessageRules kSampledCode{"SampledCode", kSampledCodeFields};
constexpr ProfileFields kSampleFields = std::to_array<FieldDecision>({{1, 9, kKeep}});
constexpr MessageRules kSample{"Sample", kSampleFields};
constexpr ProfileFields kSamplesFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kTime},
    {2, 2, kMessage, &kSampledCode},
    {3, 3, kMessage, &kSampledProcess},
    {4, 4, kMessage, &kThread},
    {5, 5, kMessage, &kSample},
});

}  // namespace

constexpr MessageRules kSamples{"Samples", kSamplesFields};

namespace {

constexpr ProfileFields kHistoryProcessFields = std::to_array<FieldDecision>({
    {1, 2, kKeep},
    {3, 3, kMessage, &kMfa},
    {4, 7, kKeep},
});
constexpr MessageRules kHistoryProcess{"HistoryProcess", kHistoryProcessFields};
constexpr ProfileFields kHistoryScanFields = std::to_array<FieldDecision>({
    {1, 3, kKeep},
    {4, 4, kMessage, &kHistoryProcess},
});
constexpr MessageRules kHistoryScan{"HistoryScan", kHistoryScanFields};
constexpr ProfileFields kHistoryReadingFields = std::to_array<FieldDecision>({
    {1, 18, kKeep},
    {19, 19, kMessage, &kHistoryScan},
});
constexpr MessageRules kHistoryReading{"HistoryReading", kHistoryReadingFields};
constexpr ProfileFields kHistoryFields = std::to_array<FieldDecision>({
    {1, 1, kMessage, &kHistoryReading},
    {2, 4, kKeep},
    {5, 5, kMessage, &kSamples},
});

}  // namespace

constexpr MessageRules kHistory{"History", kHistoryFields};

}  // namespace beamdump::redact::rules
