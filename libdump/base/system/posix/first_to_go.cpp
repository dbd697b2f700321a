#include <libdump/base/system/first_to_go.h>

namespace beamdump {

void be_first_to_go() {}

}  // namespace beamdump
