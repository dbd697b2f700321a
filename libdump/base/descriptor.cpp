#include <libdump/base/descriptor.h>

#include <unistd.h>

namespace beamdump {

void Descriptor::close() {
    if (number_ >= 0) {
        ::close(number_);
        number_ = -1;
    }
}

}  // namespace beamdump
