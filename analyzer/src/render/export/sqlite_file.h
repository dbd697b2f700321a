#pragma once

#include "query/facts/dump_facts.h"
#include "query/things/things.h"

#include <libdump/base/error.h>

#include <memory>
#include <string>

namespace beamdump::render {

/// An SQLite file of exported dumps: a table for each kind of things, whose first column is the
/// dump's id, and views. All that is written is one transaction: without commit() the file stays as
/// it was, or is not made.
class SqliteFile {
  public:
    SqliteFile() = default;
    SqliteFile(const SqliteFile&) = delete;
    SqliteFile& operator=(const SqliteFile&) = delete;
    virtual ~SqliteFile() = default;

    /// Opens `path`, an earlier export, or makes it, with mode 0600. `replace`: a dump that is in
    /// the file already is replaced. kUnsupported: the file is something else, or of a newer
    /// version.
    static Result<std::unique_ptr<SqliteFile>> open(const std::string& path, bool replace);

    /// Takes the things of the next dump. kExists: it is in the file already.
    virtual std::unique_ptr<query::ThingVisitor> add(const query::DumpFacts& facts) = 0;
    virtual Result<void> commit() = 0;
};

}  // namespace beamdump::render
