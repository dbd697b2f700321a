#pragma once

namespace beamdump {

/// Has std::terminate() write one sentence to standard error, by this program's name, and end the
/// program with status 1 instead of SIGABRT: what is left when memory is refused even for an
/// exception, or on a thread that has nobody to report to. Allocates nothing. To be called first in
/// main().
void end_with_a_sentence_on_terminate();

}  // namespace beamdump
