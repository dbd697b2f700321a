#include <libdump/base/system_error.h>

#include <system_error>

namespace beamdump {

std::string system_error_text(int error_number) {
    return std::generic_category().message(error_number);
}

}  // namespace beamdump
