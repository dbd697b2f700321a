#pragma once

#include "fake_vm/standard_node.h"

#include <libvm/beam/processes/process.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace beamdump::test {

/// A test that runs once for each layout of the program.
class EachLayout : public ::testing::TestWithParam<std::string> {
  protected:
    EachLayout() : layout(layout_of(GetParam())) {}
    beam::Layout layout;
};

/// The same, on a node that was located.
class OnStandardNode : public EachLayout {
  protected:
    /// Call after a change: drops what was read before.
    beam::Vm& fresh() {
        vm->forget();
        return *vm;
    }
    beam::CodeLookup code() { return beam::CodeLookup::read(fresh()).value(); }
    /// The process as the reader reads it.
    Result<beam::ProcessView> decode(const FakeProcess& process) {
        auto lookup = code();
        auto reader = beam::ProcessReader::open(*vm, lookup).value();
        return reader.decode({process.slot(), process.address()}, process.bytes());
    }
    beam::ProcessView view(const FakeProcess& process) { return decode(process).value(); }
    std::uint64_t owner(const FakeProcess& process) {
        return decode(process).value().facts.owner_id();
    }
    /// A circular list of suspended processes: the addresses of its members.
    std::vector<beam::Address> process_ring(const std::vector<std::uint64_t>& pids) {
        std::vector<beam::Address> all;
        for (const auto pid : pids) {
            all.push_back(node.vm.make("ErtsProcList").set("pid", pid).address());
        }
        for (std::size_t at = 0; at < all.size(); ++at) {
            node.vm.at("ErtsProcList", all[at])
                .set("next", all[(at + 1) % all.size()])
                .set("prev", all[(at + all.size() - 1) % all.size()]);
        }
        return all;
    }

    StandardNode node{layout};
    std::unique_ptr<beam::Vm> vm = node.vm.located();
};

inline std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
    auto name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

}  // namespace beamdump::test

#define BEAMDUMP_FOR_EACH_LAYOUT(suite)                                             \
    INSTANTIATE_TEST_SUITE_P(Layouts, suite,                                        \
                             ::testing::ValuesIn(::beamdump::test::layout_names()), \
                             ::beamdump::test::test_name)
