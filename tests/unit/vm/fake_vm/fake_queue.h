#pragma once

#include "fake_vm/fake_process.h"

#include <string>
#include <vector>

namespace beamdump::test {

/// Which of a process's queues.
enum class FakeQueue : std::uint8_t { kInner, kMiddle, kOuter };

/// Appends a message of that term to a queue and counts it. `attached`: 0 for a term on the heap, a
/// fragment's address, or the layout's combined_message_marker.
FakeStruct add_message(FakeVm& vm, FakeProcess& process, FakeQueue queue, std::uint64_t term,
                       std::uint64_t attached = 0);
/// A message whose fragment is in its own block.
FakeStruct add_combined_message(FakeVm& vm, FakeProcess& process, FakeQueue queue,
                                const std::vector<std::uint64_t>& words);
/// An undecoded message of another node: the bytes of its parts, and its cached atoms.
FakeStruct add_external_message(FakeVm& vm, FakeProcess& process, FakeQueue queue,
                                const std::vector<std::string>& parts,
                                const std::vector<std::uint64_t>& atoms);
/// Appends a signal whose block ends with a heap fragment.
FakeStruct add_signal(FakeVm& vm, FakeProcess& process, FakeQueue queue, std::uint64_t operation,
                      std::uint64_t type);

/// Signals that count the messages before them, as queues of OTP 27 and later have: into the fields
/// PREFIX.nmsigs of `queue` ("sig_qs" of a Process). Gives the first.
FakeStruct count_before_signals(FakeVm& vm, FakeStruct queue, const std::string& prefix,
                                const std::vector<std::uint64_t>& messages);

/// Gives the process parallel buffers, all empty.
FakeStruct add_buffers(FakeVm& vm, FakeProcess& process);
/// One of them.
FakeStruct buffer_of(FakeVm& vm, const FakeStruct& buffers, std::size_t slot);
/// Puts a message into an empty buffer and counts it.
FakeStruct add_buffered_message(FakeVm& vm, FakeStruct buffer, std::uint64_t term);

}  // namespace beamdump::test
