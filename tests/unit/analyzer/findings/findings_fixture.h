#pragma once

#include "program.h"
#include "query/findings/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {

inline constexpr std::uint64_t kMebi = 1U << 20U;

/// Asks the rules about sample dumps.
class FindingsFixture : public ::testing::Test {
  protected:
    query::Findings look(SampleDump& dump,
                         query::FindingsDepth depth = query::FindingsDepth::kQuick) {
        program_.put("node.beamdump", dump.finish());
        return look_again(depth);
    }
    query::Findings look_again(query::FindingsDepth depth) {
        opened_ = expect_value(Dump::open(program_.path("node.beamdump")));
        query::FindingsOptions options{.depth = depth, .limits = {}};
        options.terms = terms_;
        options.most_callers = most_callers_.value_or(options.most_callers);
        query::NodeFacts facts(*opened_, "node.beamdump", options);
        return query::find_findings(facts);
    }

    /// What one rule has found.
    static std::vector<std::string> found(const query::Findings& findings, std::string_view id) {
        std::vector<std::string> sentences;
        for (const auto& finding : findings.found) {
            if (finding.id == id) {
                sentences.push_back(finding.sentence);
            }
        }
        return sentences;
    }
    /// Why a rule did not look, or not at everything; empty: it did.
    static std::string left_out(const query::Findings& findings, std::string_view id) {
        for (const auto& rule : findings.left_out) {
            if (rule.id == id) {
                return rule.reason;
            }
        }
        return {};
    }

    /// erlang:memory(total) of the node.
    static void add_total(SampleDump& dump, std::uint64_t bytes) {
        records::SystemMemory system;
        auto& total = *system.add_category();
        total.set_name("total");
        total.set_bytes(bytes);
        dump.builder().trailer().set_system_memory_offset(
            dump.builder().append(format::RecordKind::kSystemMemory, system));
    }

    Program program_;
    std::unique_ptr<Dump> opened_;
    std::optional<std::uint64_t> most_callers_;
    bool terms_ = true;
};

}  // namespace beamdump::test
