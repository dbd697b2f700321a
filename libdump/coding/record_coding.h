#pragma once

#include <cstddef>
#include <span>

namespace beamdump::coding {

/// Codes the records of a frame's content in place, where they have words that then compress better
/// (schemas/dump-format.md, section 2.2). From an incomplete record on, the content stays as it
/// is. `scratch` has at least as many bytes. Allocates nothing.
void encode_records(std::span<std::byte> content, std::span<std::byte> scratch);

/// Undoes that. False if the records do not fill `content` exactly, or if a record's coding is
/// invalid: the content is of no use then.
[[nodiscard]] bool decode_records(std::span<std::byte> content, std::span<std::byte> scratch);

}  // namespace beamdump::coding
