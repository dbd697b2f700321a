#pragma once

#include <libdump/model/dump.h>

namespace beamdump {

/// What a dump tells by its form, whatever was captured. A capture has the memory of a node. A
/// crash dump is a text that a VM printed while it ended (break.c, erl_process_dump.c, OTP 17 to
/// 27; erl_crash_dump.c of 29): each value that is false here is one that this text never has.
struct DumpForm {
    /// The words of heaps at their addresses, with what nothing refers to. The text has the terms
    /// that the VM reached from the roots that it prints.
    bool heap_areas = true;
    /// The lists of what a process keeps outside its heap.
    bool off_heap_lists = true;
    /// Binaries that no printed term refers to.
    bool unreferenced_binaries = true;
    /// Saved x registers: the arguments of the function that a process runs next.
    bool argument_registers = true;
    /// The processes that a process suspends.
    bool suspended_by_process = true;
    /// The initial calls of processes that proc_lib started.
    bool behaviours = true;
    /// The number of entries of a dictionary, without reading it.
    bool dictionary_sizes = true;
    /// The size of stacks in the index of processes, without reading them.
    bool indexed_stack_sizes = true;
    /// Whether a process is active or in a run queue.
    bool scheduling_states = true;
    /// Rows of ETS tables.
    bool table_rows = true;
    /// Literals and persistent terms that no process refers to.
    bool literal_areas = true;
    /// Each instance of a module's code, with its addresses.
    bool code_instances = true;
    /// Indices of atoms: the order in which the node made them.
    bool atom_indices = true;
    /// The arguments that the VM was started with.
    bool vm_arguments = true;
    /// Facts of the operating system's process: its state, its memory, its cgroups.
    bool system_process = true;
    /// How the capture went: its stops, the bytes that it read.
    bool capture_cost = true;

    /// That of crash dumps.
    static DumpForm of_text();
};

DumpForm form_of(const Dump& dump);

/// Whether the dump was converted from a crash dump: it has a slogan, a date and sections, its text
/// may be cut off, and its node has ended. DumpForm has what it cannot tell.
bool is_of_crash_dump(const Dump& dump);

}  // namespace beamdump
