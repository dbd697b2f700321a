#pragma once

#include "fake_vm/fake_process.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {

/// A small node with one of everything that each node has: code with lines and literals, funs,
/// catches, a remote node; `init`, `auth` with the cookies, and a worker with a dictionary, terms
/// of all kinds that lead off its heap, links, monitors, messages and fragments.
struct StandardNode {
    explicit StandardNode(const beam::Layout& layout, const std::string& release = {});

    FakeVm vm;
    FakeModule code;
    Address fun_entry, exported, remote_node;
    FakeProcess init, auth, worker;
    Address binary;      ///< that the worker's heap refers to
    Address auth_table;  ///< DbTableHash
};

inline constexpr std::string_view kCookie = "OWNCOOKIE123";
inline constexpr std::string_view kOtherCookie = "OTHERCOOKIE456";
inline constexpr std::string_view kBinaryText =
    "a binary's text that is long enough to be off-heap";

/// An ETS table of type set that a process owns and refers to, with one row in each of its slots:
/// {Key, Value}. Gives the DbTableHash's address.
Address add_table(FakeVm& vm, FakeProcess& owner,
                  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& rows);

/// The layouts that the program has, by their names: for tests of all of them.
std::vector<std::string> layout_names();
beam::Layout layout_of(std::string_view name);

}  // namespace beamdump::test
