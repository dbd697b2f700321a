// Looks at a map's keys before it is printed in Elixir's syntax: whether it is a struct, or all its
// keys can be written as those of a keyword list.
#include <libdump/term/map_cells.h>
#include <libdump/term/term_dialect.h>
#include <libdump/term/term_printer.h>

namespace beamdump {

/// Adds a key to what is known of the others. False: the map is no keyword map.
bool TermPrinter::look_at_key(std::uint64_t key, std::uint64_t value_slot, MapShape& shape) {
    if (word_kind(scheme_, key) != WordKind::kAtom) {
        return false;
    }
    const auto& atom = atoms_.at(table_index(key));
    if (!atom.known || !is_elixir_keyword(atom.name)) {
        return false;
    }
    if (atom.name == "__struct__") {
        std::uint64_t module = 0;
        if (reader_.read(value_slot, module) == WordStatus::kHere &&
            word_kind(scheme_, module) == WordKind::kAtom) {
            const auto& name = atoms_.at(table_index(module));
            if (name.known && is_elixir_alias(name.name)) {
                shape.structure = table_index(module);
            }
        }
    }
    return true;
}

TermPrinter::MapShape TermPrinter::flat_map_shape(std::uint64_t keys, std::uint64_t values,
                                                  std::uint64_t count) {
    MapShape shape;
    for (std::uint64_t at = 0; at < count * kWordBytes; at += kWordBytes) {
        std::uint64_t key = 0;
        if (reader_.read(keys + at, key) != WordStatus::kHere ||
            !look_at_key(key, values + at, shape)) {
            return {};
        }
    }
    shape.keyword = count != 0;
    return shape;
}

TermPrinter::MapShape TermPrinter::hash_map_shape(std::uint64_t address, std::uint64_t header) {
    MapShape shape;
    MapCells cells(scheme_, reader_, address, header);
    std::uint64_t cell = 0;
    while (cells.next(cell)) {
        std::uint64_t key = 0;
        if (reader_.read(cell, key) != WordStatus::kHere ||
            !look_at_key(key, cell + kWordBytes, shape)) {
            return {};
        }
    }
    shape.keyword = !cells.is_broken();
    return shape.keyword ? shape : MapShape();
}

/// What stands before a map's first key.
std::string TermPrinter::map_opening(const MapShape& shape) {
    return shape.structure ? "%" + atoms_.at(*shape.structure).shown + "{"
                           : std::string(dialect_->map);
}

}  // namespace beamdump
