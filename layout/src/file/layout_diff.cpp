#include "file/layout_diff.h"

#include <fmt/format.h>

namespace beamdump::layout {
namespace {

using Lines = std::vector<std::string>;

std::string shown(std::uint64_t constant) {
    return fmt::format("{}", constant);
}

std::string shown(const Field& field) {
    return fmt::format("offset {}, {} bytes", field.offset, field.bytes);
}

std::string shown(const Structure& structure) {
    return fmt::format("{} bytes", structure.bytes);
}

bool same(std::uint64_t a, std::uint64_t b) {
    return a == b;
}

bool same(const Field& a, const Field& b) {
    return a == b;
}

bool same(const Structure& a, const Structure& b) {
    return a.bytes == b.bytes;
}

template <typename Value>
void add(Lines& lines, std::string_view name, const Value* a, const Value* b) {
    if (a != nullptr && b != nullptr && same(*a, *b)) {
        return;
    }
    lines.push_back(fmt::format("{}: {} -> {}", name, a == nullptr ? "absent" : shown(*a),
                                b == nullptr ? "absent" : shown(*b)));
}

/// Calls `visit` with names and both sides' values: first all of `a`, then those only in `b`.
template <typename Value, typename Visit>
void each_pair(const Named<Value>& a, const Named<Value>& b, const Visit& visit) {
    for (const auto& [name, value] : a) {
        visit(name, &value, find(b, name));
    }
    for (const auto& [name, value] : b) {
        if (find(a, name) == nullptr) {
            visit(name, static_cast<const Value*>(nullptr), &value);
        }
    }
}

}  // namespace

std::vector<std::string> layout_diff(const LayoutFile& a, const LayoutFile& b) {
    Lines lines;
    if (a.architecture != b.architecture) {
        lines.push_back(fmt::format("architecture: {} -> {}", a.architecture, b.architecture));
    }
    if (a.word_bytes != b.word_bytes) {
        add(lines, "word_bytes", &a.word_bytes, &b.word_bytes);
    }
    each_pair(a.structs, b.structs,
              [&](const std::string& name, const Structure* left, const Structure* right) {
                  add(lines, name, left, right);
                  if (left == nullptr || right == nullptr) {
                      return;
                  }
                  each_pair(left->fields, right->fields,
                            [&](const std::string& field, const Field* was, const Field* is) {
                                add(lines, fmt::format("{}.{}", name, field), was, is);
                            });
              });
    each_pair(a.constants, b.constants,
              [&](const std::string& name, const std::uint64_t* was, const std::uint64_t* is) {
                  add(lines, fmt::format("constant {}", name), was, is);
              });
    return lines;
}

}  // namespace beamdump::layout
