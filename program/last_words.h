#pragma once

namespace beamdump {

/// Makes std::terminate() write one sentence with the program's name to standard error and exit
/// with status 1 instead of SIGABRT. For a lack of memory even for an exception, and for threads
/// that cannot report one. Allocates nothing. Call it first in main().
void end_with_a_sentence_on_terminate();

}  // namespace beamdump
