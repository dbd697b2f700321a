#include "render/export/sqlite_file.h"

#include "render/export/sqlite_schema.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <map>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace beamdump::render {

namespace {

struct Closer {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

std::unexpected<Error> failure(sqlite3* database, std::string_view path) {
    const int code = sqlite3_errcode(database) & 0xff;
    auto kind = ErrorCode::kIo;
    std::string_view remedy;
    if (code == SQLITE_FULL) {
        kind = ErrorCode::kNoSpace;
    } else if (code == SQLITE_BUSY) {
        remedy = "; another program writes to it: try again when it has ended";
    } else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        kind = ErrorCode::kUnsupported;
        remedy = "; name a new file, or one that export sqlite has made";
    }
    return fail(kind, fmt::format("writing {}: {}; the file is as it was{}", path,
                                  sqlite3_errmsg(database), remedy));
}

/// A file that is written to, with its path for errors.
class Connection {
  public:
    Connection(Database database, std::string path)
        : database_(std::move(database)), path_(std::move(path)) {}

    Result<void> run(const std::string& sql) {
        return check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
    }
    Result<Statement> prepare(const std::string& sql) {
        sqlite3_stmt* statement = nullptr;
        RETURN_IF_ERROR(
            check(sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr)));
        return Statement(statement);
    }
    /// The cell must stay as it is until the next step.
    Result<void> bind(const Statement& statement, int place, const query::Cell& cell) {
        if (const auto* flag = std::get_if<bool>(&cell)) {
            return check(sqlite3_bind_int(statement.get(), place, *flag ? 1 : 0));
        }
        if (const auto* text = std::get_if<std::string>(&cell)) {
            if (is_ascii(*text)) {
                return check(sqlite3_bind_text64(statement.get(), place, text->data(), text->size(),
                                                 SQLITE_STATIC, SQLITE_UTF8));
            }
            const std::string valid = valid_utf8(*text);
            return check(sqlite3_bind_text64(statement.get(), place, valid.data(), valid.size(),
                                             SQLITE_TRANSIENT, SQLITE_UTF8));
        }
        const auto* number = std::get_if<std::uint64_t>(&cell);
        // SQLite has no greater numbers: absent.
        constexpr auto kGreatest =
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        return number != nullptr && *number <= kGreatest
                   ? check(sqlite3_bind_int64(statement.get(), place,
                                              static_cast<std::int64_t>(*number)))
                   : check(sqlite3_bind_null(statement.get(), place));
    }
    /// One step, to the end: true if there is a row.
    Result<bool> step(const Statement& statement) {
        const int code = sqlite3_step(statement.get());
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            return failure(database_.get(), path_);
        }
        return code == SQLITE_ROW;
    }
    Result<void> once(const Statement& statement) {
        RETURN_IF_ERROR(step(statement));
        return check(sqlite3_reset(statement.get()));
    }
    Result<std::int64_t> number(const std::string& sql) {
        ASSIGN_OR_RETURN(const auto statement, prepare(sql));
        ASSIGN_OR_RETURN(const bool found, step(statement));
        return found ? sqlite3_column_int64(statement.get(), 0) : 0;
    }
    [[nodiscard]] std::int64_t last_row() const {
        return sqlite3_last_insert_rowid(database_.get());
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    static bool is_ascii(std::string_view text) {
        return std::ranges::none_of(text,
                                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    }
    Result<void> check(int code) {
        return code == SQLITE_OK ? Result<void>() : Result<void>(failure(database_.get(), path_));
    }

    Database database_;
    std::string path_;
};

/// The cells that tell one dump from another, of its row.
constexpr std::array<std::string_view, 5> kIdentity = {"boot_us", "crash_date", "os_pid",
                                                       "processes", "reductions"};

class DumpRows final : public query::ThingVisitor {
  public:
    DumpRows(Connection& connection, const query::DumpFacts& facts, bool replace)
        : connection_(connection), replace_(replace) {
        if (facts.node_name) {
            node_ = *facts.node_name;
        }
        if (facts.captured_us && *facts.captured_us >= 0) {
            captured_ = static_cast<std::uint64_t>(*facts.captured_us);
        }
    }

    Result<void> begin(const query::ThingKind& kind,
                       std::optional<std::uint64_t> /*total*/) override {
        return inserts_.contains(&kind) ? Result<void>() : prepare(kind);
    }

    Result<void> thing(const query::ThingKind& kind, const query::Row& row) override {
        const Statement& insert = inserts_.at(&kind);
        int place = 0;
        if (&kind == &query::dump_kind()) {
            RETURN_IF_ERROR(make_room(kind, row));
            RETURN_IF_ERROR(connection_.bind(insert, ++place, node_));
            RETURN_IF_ERROR(connection_.bind(insert, ++place, captured_));
        } else {
            RETURN_IF_ERROR(
                connection_.bind(insert, ++place, query::Cell(static_cast<std::uint64_t>(id_))));
        }
        for (const query::Cell& cell : row) {
            RETURN_IF_ERROR(connection_.bind(insert, ++place, cell));
        }
        RETURN_IF_ERROR(connection_.once(insert));
        if (&kind == &query::dump_kind()) {
            id_ = connection_.last_row();
        }
        return {};
    }

  private:
    Result<void> prepare(const query::ThingKind& kind) {
        const bool is_dump = &kind == &query::dump_kind();
        std::string names = is_dump ? "node, captured_us" : "dump";
        std::string places = is_dump ? "?, ?" : "?";
        for (const auto& column : kind.columns) {
            names += fmt::format(", \"{}\"", column.name);
            places += ", ?";
        }
        ASSIGN_OR_RETURN(inserts_[&kind],
                         connection_.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})",
                                                         kind.table, names, places)));
        return {};
    }

    /// Finds the same dump in the file, which is removed or an error.
    Result<void> make_room(const query::ThingKind& kind, const query::Row& row) {
        std::string sql = "SELECT id, file FROM dumps WHERE node IS ? AND captured_us IS ?";
        std::vector<query::Cell> cells = {node_, captured_};
        for (const std::string_view name : kIdentity) {
            for (std::size_t at = 0; at < kind.columns.size(); ++at) {
                if (kind.columns[at].name == name) {
                    sql += fmt::format(" AND {} IS ?", name);
                    cells.push_back(row[at]);
                }
            }
        }
        ASSIGN_OR_RETURN(const auto statement, connection_.prepare(sql));
        for (std::size_t at = 0; at < cells.size(); ++at) {
            RETURN_IF_ERROR(connection_.bind(statement, static_cast<int>(at) + 1, cells[at]));
        }
        ASSIGN_OR_RETURN(const bool found, connection_.step(statement));
        if (!found) {
            return {};
        }
        const std::int64_t id = sqlite3_column_int64(statement.get(), 0);
        if (!replace_) {
            const auto* name = sqlite3_column_text(statement.get(), 1);
            return fail(
                ErrorCode::kExists,
                fmt::format(
                    "{} has this dump already, from {}; --force replaces it", connection_.path(),
                    name == nullptr ? "another file" : reinterpret_cast<const char*>(name)));
        }
        for (const query::ThingKind* table : query::thing_kinds()) {
            RETURN_IF_ERROR(
                connection_.run(fmt::format("DELETE FROM {} WHERE {} = {}", table->table,
                                            table == &query::dump_kind() ? "id" : "dump", id)));
        }
        return {};
    }

    Connection& connection_;
    bool replace_;
    query::Cell node_;
    query::Cell captured_;
    std::int64_t id_ = 0;
    std::map<const query::ThingKind*, Statement> inserts_;
};

Result<void> make_new(const std::string& path) {
    std::remove(path.c_str());
    const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot make {}: {}", path, std::strerror(errno)));
    }
    ::close(descriptor);
    return {};
}

/// Another user's file may be one that everybody may write: its owner would read what is added.
Result<void> check_owner(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    if (status.st_uid != ::geteuid()) {
        return fail(ErrorCode::kPermission,
                    fmt::format("{} belongs to another user, who could read what is added: name a "
                                "file of your own",
                                path));
    }
    return {};
}

/// The file's own mark.
Result<void> check_kind(Connection& connection) {
    ASSIGN_OR_RETURN(const auto application, connection.number("PRAGMA application_id"));
    ASSIGN_OR_RETURN(const auto version, connection.number("PRAGMA user_version"));
    if (application != kSqliteApplication) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} is not a file that export sqlite has made; name another one",
                                connection.path()));
    }
    if (version != kSqliteVersion) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} has tables of version {}, this program writes version {}; "
                                "name a new file",
                                connection.path(), version, kSqliteVersion));
    }
    return {};
}

class File final : public SqliteFile {
  public:
    /// `partial`: the new file's name until it is complete; empty: the file was there.
    File(Connection connection, std::string partial, bool replace)
        : connection_(std::make_unique<Connection>(std::move(connection))),
          partial_(std::move(partial)),
          replace_(replace) {}
    ~File() override {
        connection_.reset();  // rolls back what was not committed
        if (!partial_.empty()) {
            std::remove(partial_.c_str());
            std::remove((partial_ + "-journal").c_str());
        }
    }

    /// Makes the tables; of a file that was there, tables and columns that are new since it was
    /// made.
    Result<void> begin() {
        // Pages that do not fit are written again and again.
        RETURN_IF_ERROR(connection_->run("PRAGMA cache_size = -65536"));
        RETURN_IF_ERROR(connection_->run("BEGIN IMMEDIATE"));
        if (!partial_.empty()) {
            return connection_->run(sqlite_schema());
        }
        RETURN_IF_ERROR(check_kind(*connection_));
        RETURN_IF_ERROR(connection_->run(sqlite_tables()));
        return add_columns();
    }

    std::unique_ptr<query::ThingVisitor> add(const query::DumpFacts& facts) override {
        return std::make_unique<DumpRows>(*connection_, facts, replace_);
    }

    Result<void> commit() override {
        if (!partial_.empty()) {
            RETURN_IF_ERROR(connection_->run(sqlite_indexes()));
        }
        RETURN_IF_ERROR(connection_->run("COMMIT"));
        if (partial_.empty()) {
            return {};
        }
        // Fails where the file was made meanwhile: it is not replaced.
        std::error_code error;
        std::filesystem::create_hard_link(partial_, connection_->path(), error);
        if (error) {
            return fail(ErrorCode::kIo, fmt::format("cannot name the new file {}: {}",
                                                    connection_->path(), error.message()));
        }
        return {};
    }

  private:
    Result<void> add_columns() {
        for (const query::ThingKind* kind : query::thing_kinds()) {
            for (const auto& column : kind->columns) {
                ASSIGN_OR_RETURN(
                    const auto has,
                    connection_->number(fmt::format(
                        "SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}'",
                        kind->table, column.name)));
                if (has == 0) {
                    RETURN_IF_ERROR(connection_->run(fmt::format(
                        "ALTER TABLE {} ADD COLUMN {}", kind->table, sqlite_column(column))));
                }
            }
        }
        return {};
    }

    std::unique_ptr<Connection> connection_;
    std::string partial_;
    bool replace_;
};

}  // namespace

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const std::string& path, bool replace) {
    std::error_code ignored;
    const bool is_new = !std::filesystem::exists(path, ignored);
    const std::string partial = is_new ? path + ".partial" : "";
    RETURN_IF_ERROR(is_new ? make_new(partial) : check_owner(path));
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2((is_new ? partial : path).c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    auto file = std::make_unique<File>(Connection(Database(opened), path), partial, replace);
    if (code != SQLITE_OK) {
        return failure(opened, path);
    }
    // The file is not trusted: its own triggers and functions do nothing.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    RETURN_IF_ERROR(file->begin());
    return file;
}

}  // namespace beamdump::render
