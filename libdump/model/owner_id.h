#pragma once

#include <libdump/format/owner_id.h>
