#include "rules/config.h"

#include <libdump/base/byte_amount.h>
#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/nodes/node_choice.h>
#include <program/command_line.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <toml.hpp>
#include <utility>

namespace beamdump::watch {
namespace {

/// One table of the file, whose keys are read one by one; what is left over is refused.
class Table {
  public:
    Table(const toml::value& table, std::string file, std::string what)
        : table_(&table), file_(std::move(file)), what_(std::move(what)) {}

    [[nodiscard]] std::unexpected<Error> error(const toml::value& at,
                                               const std::string& why) const {
        return fail(ErrorCode::kUsage, fmt::format("{}:{}: {}", file_, at.location().line(), why));
    }
    [[nodiscard]] const toml::value& value() const { return *table_; }

    const toml::value* find(const std::string& key) {
        known_.insert(key);
        return table_->contains(key) ? &table_->at(key) : nullptr;
    }

    /// A key whose text `read` understands; `allowed` says what that is.
    Result<void> text(const std::string& key, const std::string& allowed,
                      const std::function<bool(const std::string&)>& read) {
        const auto* const found = find(key);
        if (found == nullptr) {
            return {};
        }
        // A number may stand without quotes.
        const auto text = found->is_string()    ? found->as_string().str
                          : found->is_integer() ? std::to_string(found->as_integer())
                                                : std::string();
        return !text.empty() && read(text)
                   ? Result<void>()
                   : error(*found, fmt::format("{} is {}, such as {}", key,
                                               text.empty() ? "of another type"
                                                            : fmt::format("\"{}\"", text),
                                               allowed));
    }
    Result<void> duration(const std::string& key, std::chrono::milliseconds& into) {
        return text(key, "\"10s\", \"500ms\" or \"24h\", at most 24 hours",
                    [&into](const std::string& text) {
                        const auto time = program::duration_of(text);
                        into = time.value_or(into);
                        return time.has_value();
                    });
    }
    Result<void> count(const std::string& key, std::uint64_t& into) {
        const auto* const found = find(key);
        if (found != nullptr && (!found->is_integer() || found->as_integer() < 1)) {
            return error(*found, fmt::format("{} is a whole number from 1 on", key));
        }
        into = found == nullptr ? into : static_cast<std::uint64_t>(found->as_integer());
        return {};
    }
    Result<void> flag(const std::string& key, bool& into) {
        const auto* const found = find(key);
        if (found != nullptr && !found->is_boolean()) {
            return error(*found, fmt::format("{} is true or false", key));
        }
        into = found == nullptr ? into : found->as_boolean();
        return {};
    }
    Result<void> texts(const std::string& key, std::vector<std::string>& into) {
        const auto* const found = find(key);
        if (found == nullptr) {
            return {};
        }
        if (!found->is_array()) {
            return error(*found, fmt::format("{} is a list of texts, such as [\"--redact\", "
                                             "\"structure\"]",
                                             key));
        }
        for (const auto& item : found->as_array()) {
            if (!item.is_string()) {
                return error(item, fmt::format("{} is a list of texts", key));
            }
            into.push_back(item.as_string().str);
        }
        return {};
    }
    /// Refuses keys that nothing asked for.
    [[nodiscard]] Result<void> end() const {
        for (const auto& [key, value] : table_->as_table()) {
            if (!known_.contains(key)) {
                return error(value, fmt::format("{} has no key \"{}\"; it has {}", what_, key,
                                                fmt::join(known_, ", ")));
            }
        }
        return {};
    }

  private:
    const toml::value* table_;
    std::string file_;
    std::string what_;
    std::set<std::string> known_;
};

Result<Threshold> needed_threshold(Quantity of, std::string_view text) {
    if (const auto threshold = threshold_of(of, text)) {
        return *threshold;
    }
    const auto& facts = facts_of(of);
    const bool share = !facts.whole.empty() || facts.unit == Unit::kPercent;
    return fail(
        ErrorCode::kUsage,
        fmt::format("\"{}\" is no threshold of {}: {}{}", text, facts.name,
                    facts.unit == Unit::kBytes     ? "2GiB, 512M"
                    : facts.unit == Unit::kCount   ? "a number"
                    : facts.unit == Unit::kSeconds ? "a time such as 30s"
                                                   : "20%",
                    share && facts.unit != Unit::kPercent ? " or a share such as 90%" : ""));
}

Result<void> read_limits(Table table, Limits& limits) {
    RETURN_IF_ERROR(table.count("most", limits.most));
    RETURN_IF_ERROR(table.duration("window", limits.window));
    RETURN_IF_ERROR(table.duration("distance", limits.distance));
    RETURN_IF_ERROR(table.count("keep", limits.keep));
    RETURN_IF_ERROR(table.text("bytes", "\"20GiB\"", [&limits](const std::string& text) {
        limits.bytes = byte_amount(text);
        return limits.bytes.has_value();
    }));
    RETURN_IF_ERROR(table.text("free", "\"5GiB\"", [&limits](const std::string& text) {
        const auto bytes = byte_amount(text);
        limits.free_bytes = bytes.value_or(limits.free_bytes);
        return bytes.has_value();
    }));
    return table.end();
}

Result<void> read_crash_dumps(Table table, CrashDumps& crash_dumps) {
    RETURN_IF_ERROR(table.text("take", "\"convert\", \"redact\" or \"ignore\"",
                               [&crash_dumps](const std::string& text) {
                                   const auto take = crash_dumps_named(text);
                                   crash_dumps.take = take.value_or(crash_dumps.take);
                                   return take.has_value();
                               }));
    RETURN_IF_ERROR(
        table.text("policy", "\"structure\" or a file", [&crash_dumps](const std::string& text) {
            crash_dumps.policy = text;
            return true;
        }));
    RETURN_IF_ERROR(table.flag("remove", crash_dumps.remove));
    RETURN_IF_ERROR(table.text("command", "\"upload \\\"$BEAMDUMP_FILE\\\"\"",
                               [&crash_dumps](const std::string& text) {
                                   crash_dumps.command = text;
                                   return true;
                               }));
    return table.end();
}

/// What is done when the rule acts.
Result<void> read_actions(Table& table, Rule& rule) {
    RETURN_IF_ERROR(table.text("name", "\"mailbox\"", [&rule](const std::string& text) {
        rule.name = text;
        return true;
    }));
    RETURN_IF_ERROR(table.texts("capture", rule.capture));
    RETURN_IF_ERROR(table.text("command", "\"upload \\\"$BEAMDUMP_FILE\\\"\"",
                               [&rule](const std::string& text) {
                                   rule.command = text;
                                   return true;
                               }));
    return table.flag("dump", rule.dump);
}

/// A rule about the start or the end of a node.
Result<Rule> read_event_rule(Table& table) {
    Rule rule;
    RETURN_IF_ERROR(table.text("on", "\"start\" or \"end\"", [&rule](const std::string& text) {
        rule.on = text == "start" ? Rule::On::kStart : Rule::On::kEnd;
        rule.name = text;
        return text == "start" || text == "end";
    }));
    RETURN_IF_ERROR(read_actions(table, rule));
    RETURN_IF_ERROR(table.end());
    if (rule.on == Rule::On::kEnd) {
        if (!rule.command) {
            return table.error(table.value(),
                               "a rule on = \"end\" has a \"command\": no dump can be taken of "
                               "a node that has ended");
        }
        rule.dump = false;
    }
    return rule;
}

Result<Rule> read_rule(Table table) {
    if (table.find("on") != nullptr) {
        return read_event_rule(table);
    }
    Rule rule;
    const auto of_error = table.text("of", names_of_quantities(), [&rule](const std::string& text) {
        const auto quantity = quantity_named(text);
        rule.of = quantity.value_or(rule.of);
        return quantity.has_value();
    });
    RETURN_IF_ERROR(of_error);
    if (table.find("of") == nullptr) {
        return table.error(
            table.value(),
            "a rule has no key \"of\", which says what it looks at: " + names_of_quantities());
    }
    rule.name = facts_of(rule.of).name;
    RETURN_IF_ERROR(read_actions(table, rule));
    const auto* const above = table.find("above");
    const auto* const grows = table.find("grows");
    if ((above == nullptr) == (grows == nullptr)) {
        return table.error(table.value(), "a rule has one of the keys \"above\" and \"grows\"");
    }
    const auto threshold = [&](const std::string& key, Threshold& into) -> Result<void> {
        std::string why;
        const auto read = table.text(key, "", [&](const std::string& text) {
            const auto found = needed_threshold(rule.of, text);
            into = found.value_or(into);
            why = found ? "" : found.error().message;
            return found.has_value();
        });
        return why.empty() ? read : table.error(table.value().at(key), why);
    };
    RETURN_IF_ERROR(threshold(above != nullptr ? "above" : "grows", rule.above));
    std::chrono::milliseconds per{0};
    RETURN_IF_ERROR(table.duration("per", per));
    if ((grows != nullptr) != (per.count() > 0)) {
        return table.error(table.value(), grows != nullptr
                                              ? "\"grows\" needs \"per\", such as per = \"10m\""
                                              : "\"per\" belongs to \"grows\"");
    }
    if (grows != nullptr) {
        rule.per = per;
    }
    RETURN_IF_ERROR(table.duration("for", rule.hold));
    if (table.find("rearm") != nullptr) {
        Threshold rearm;
        RETURN_IF_ERROR(threshold("rearm", rearm));
        rule.rearm = rearm;
    }
    RETURN_IF_ERROR(table.end());
    return rule;
}

Result<Config> read_tables(const toml::value& root, const std::string& name) {
    Config config;
    Table table(root, name, "the file");
    RETURN_IF_ERROR(table.text("node", "\"rabbit@host\"", [&config](const std::string& text) {
        config.nodes.push_back(text);
        return true;
    }));
    RETURN_IF_ERROR(table.texts("nodes", config.nodes));
    RETURN_IF_ERROR(table.flag("all", config.all));
    if (config.all && !config.nodes.empty()) {
        return table.error(root.at("all"), "all = true stands without node and nodes");
    }
    RETURN_IF_ERROR(table.duration("interval", config.interval));
    RETURN_IF_ERROR(table.duration("scan_interval", config.scan_interval));
    RETURN_IF_ERROR(
        table.text("folder", "\"/var/lib/beamdump\"", [&config](const std::string& text) {
            config.folder = text;
            return true;
        }));
    RETURN_IF_ERROR(table.texts("capture", config.capture));
    RETURN_IF_ERROR(table.text("record", "\"1h\", at most 24 hours, or \"off\"",
                               [&config](const std::string& text) {
                                   const auto span = record_span_named(text);
                                   config.record = span.value_or(config.record);
                                   return span.has_value();
                               }));
    RETURN_IF_ERROR(table.text("record_profile", "10, at most 100, or \"off\"",
                               [&config](const std::string& text) {
                                   const auto rate = profile_rate_named(text);
                                   config.record_profile = rate.value_or(config.record_profile);
                                   return rate.has_value();
                               }));
    RETURN_IF_ERROR(table.text("cgroup", kCgroupNames, [&config](const std::string& text) {
        config.cgroup = text;
        return is_cgroup_name(text);
    }));
    if (const auto* const limits = table.find("limits")) {
        if (!limits->is_table()) {
            return table.error(*limits, "limits is a table: [limits]");
        }
        RETURN_IF_ERROR(read_limits(Table(*limits, name, "[limits]"), config.limits));
    }
    if (const auto* const crash_dumps = table.find("crash_dumps")) {
        if (!crash_dumps->is_table()) {
            return table.error(*crash_dumps, "crash_dumps is a table: [crash_dumps]");
        }
        RETURN_IF_ERROR(
            read_crash_dumps(Table(*crash_dumps, name, "[crash_dumps]"), config.crash_dumps));
    }
    if (const auto* const rules = table.find("rule")) {
        if (!rules->is_array()) {
            return table.error(*rules, "rule is a list of tables: [[rule]]");
        }
        std::set<std::string> names;
        for (const auto& item : rules->as_array()) {
            if (!item.is_table()) {
                return table.error(item, "rule is a list of tables: [[rule]]");
            }
            ASSIGN_OR_RETURN(auto rule, read_rule(Table(item, name, "a [[rule]]")));
            if (!names.insert(rule.name).second) {
                return table.error(
                    item, fmt::format("two rules are named \"{}\": give them names", rule.name));
            }
            config.rules.push_back(std::move(rule));
        }
    }
    RETURN_IF_ERROR(table.end());
    if (config.rules.empty()) {
        return fail(ErrorCode::kUsage, name + " has no [[rule]]");
    }
    return config;
}

/// The first line of a syntax error's sentence, with the line of the file.
std::string syntax_text(const toml::syntax_error& error) {
    const std::string what = error.what();
    const auto begin = what.find_first_not_of(" \n");
    auto line = what.substr(begin, what.find('\n', begin) - begin);
    for (const std::string_view noise : {"[error] ", "toml::parse_table: ", "toml::"}) {
        if (line.starts_with(noise)) {
            line.erase(0, noise.size());
        }
    }
    return line;
}

std::string_view next_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace

std::optional<CrashDumps::Take> crash_dumps_named(std::string_view name) {
    using Take = CrashDumps::Take;
    return name == "convert"  ? std::optional(Take::kConvert)
           : name == "redact" ? std::optional(Take::kRedact)
           : name == "ignore" ? std::optional(Take::kIgnore)
                              : std::nullopt;
}

bool is_cgroup_name(std::string_view text) {
    const auto path = std::filesystem::path(text).relative_path();
    return !path.empty() && std::ranges::none_of(path, [](const std::filesystem::path& part) {
        return part.empty() || part == "." || part == "..";
    });
}

std::optional<std::chrono::milliseconds> record_span_named(std::string_view text) {
    return text == "off" ? std::optional(std::chrono::milliseconds(0)) : program::duration_of(text);
}

std::optional<std::uint32_t> profile_rate_named(std::string_view text) {
    constexpr std::uint32_t kMost = 100;
    if (text == "off") {
        return 0;
    }
    const auto rate = decimal_number(text);
    return rate && *rate >= 1 && *rate <= kMost ? std::optional(static_cast<std::uint32_t>(*rate))
                                                : std::nullopt;
}

bool Config::several() const {
    return all || nodes.size() > 1 || std::ranges::any_of(nodes, beamdump::nodes::is_pattern);
}

bool Config::means(const std::string& name, pid_t pid) const {
    return all || std::ranges::any_of(nodes, [&](const std::string& wanted) {
               return beamdump::nodes::means_node(wanted, name, pid);
           });
}

Result<Config> parse_config(std::string_view text, const std::string& name) try {
    std::istringstream stream{std::string(text)};
    const auto root = toml::parse(stream, name);
    return read_tables(root, name);
} catch (const toml::syntax_error& error) {
    return fail(ErrorCode::kUsage, fmt::format("{}:{}: this is not TOML: {}", name,
                                               error.location().line(), syntax_text(error)));
} catch (const std::exception& error) {
    return fail(ErrorCode::kUsage, fmt::format("{}: {}", name, error.what()));
}

Result<Config> read_config(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream) {
        return std::unexpected(cannot_open(file.string()));
    }
    std::ostringstream text;
    text << stream.rdbuf();
    if (stream.bad()) {
        return fail(ErrorCode::kIo, fmt::format("cannot read {}", file.string()));
    }
    return parse_config(text.str(), file.string());
}

Result<Rule> parse_rule(std::string_view text) {
    auto rest = text;
    const auto of = next_word(rest);
    const auto relation = next_word(rest);
    const auto amount = next_word(rest);
    const auto quantity = quantity_named(of);
    if (!quantity) {
        return fail(ErrorCode::kUsage, fmt::format("\"{}\" is not what a rule can look at: {}", of,
                                                   names_of_quantities()));
    }
    Rule rule;
    rule.of = *quantity;
    rule.name = of;
    auto number = amount;
    if (relation == "grows") {
        const auto slash = amount.find('/');
        const auto per = slash == std::string_view::npos
                             ? std::nullopt
                             : program::duration_of(amount.substr(slash + 1));
        if (!per) {
            return fail(
                ErrorCode::kUsage,
                fmt::format("\"{}\" does not say in what time: {} grows 100MiB/10m", text, of));
        }
        rule.per = per;
        rule.name += "_growth";
        number = amount.substr(0, slash);
    } else if (relation != ">") {
        return fail(ErrorCode::kUsage,
                    fmt::format("\"{}\" is not a rule, such as \"memory > 90%\" or \"mailbox grows "
                                "10000/1m\"",
                                text));
    }
    ASSIGN_OR_RETURN(rule.above, needed_threshold(rule.of, number));
    const auto next = next_word(rest);
    if (next == "for") {
        const auto hold = program::duration_of(next_word(rest));
        if (!hold) {
            return fail(ErrorCode::kUsage,
                        fmt::format("\"{}\" does not say for how long: for 10s", text));
        }
        rule.hold = *hold;
    }
    if ((!next.empty() && next != "for") || !next_word(rest).empty()) {
        return fail(ErrorCode::kUsage, fmt::format("\"{}\" goes on after a rule's end", text));
    }
    return rule;
}

}  // namespace beamdump::watch
