#pragma once

#include "query/heap/heap_roots.h"
#include "query/process/opened_process.h"
#include "query/term/path_finder.h"

#include <libdump/base/error.h>
#include <libdump/model/messages.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace beamdump::query {

/// A root of a process's terms, as a path begins with it.
struct NamedRoot {
    std::uint64_t word = 0;
    std::string text;  ///< "y(3) of frame 0", "dictionary key", "message 12"
    std::unique_ptr<MessageWalker> walker = {};  ///< holds the message that is read, if it is one
};

/// The root as text, as `heap` shows it. Key: of a dictionary entry.
std::string root_name(const HeapRoot& root, PathFinder& finder);

/// Finds the root that a path begins with, and cuts it off. Beside the names that `heap` shows:
/// "y(3)" is of frame 0, a function behind a frame is passed over, and "state" is the state of a
/// gen_server. The context reads a message's words from then on. kNotFound: there is none.
Result<NamedRoot> find_root(Dump& dump, OpenedProcess& process, PathFinder& finder,
                            std::string_view& path);

}  // namespace beamdump::query
