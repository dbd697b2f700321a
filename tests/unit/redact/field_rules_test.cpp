// Every field of every record has a decision, and one that fits its type.

#include <libdump/redact/field_rules.h>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace beamdump::redact {
namespace {

struct Declared {
    std::string type, name;
};
/// Fields of the schema's messages, by message and number.
using Messages = std::map<std::string, std::map<std::uint32_t, Declared>>;

Messages declared_messages() {
    static const std::regex kMessageLine(R"(message (\w+) \{)");
    static const std::regex kFieldLine(R"(\s+(?:optional|repeated) (\w+) (\w+) = (\d+).*)");
    Messages messages;
    for (const auto* file :
         {"records", "process_records", "code_records", "table_records", "activity_records",
          "memory_records", "profile_records", "redaction_records", "history_records"}) {
        std::ifstream schema(std::string(BEAMDUMP_SCHEMAS) + "/" + file + ".proto");
        EXPECT_TRUE(schema) << file;
        std::string message;
        for (std::string line; std::getline(schema, line);) {
            std::smatch match;
            if (std::regex_match(line, match, kMessageLine)) {
                message = match[1];
                messages[message];
            } else if (std::regex_match(line, match, kFieldLine)) {
                messages[message][static_cast<std::uint32_t>(std::stoul(match[3]))] = {match[1],
                                                                                       match[2]};
            }
        }
    }
    return messages;
}

bool fits(const FieldDecision& decision, const Declared& field, const Messages& messages) {
    const auto rule = decision.rule;
    if (field.type == "bytes" || field.type == "string") {
        static const std::set kOfBytes = {
            FieldRule::kKeepText,  FieldRule::kSentence, FieldRule::kHide,    FieldRule::kArguments,
            FieldRule::kAtomTexts, FieldRule::kExternal, FieldRule::kChecksum};
        return kOfBytes.contains(rule);
    }
    if (field.type == "CrashSection") {  // its fields: hide_crash_section()
        return rule == FieldRule::kSection;
    }
    if (messages.contains(field.type)) {
        return rule == FieldRule::kMessage && decision.message->name == field.type;
    }
    return rule == FieldRule::kKeep || rule == FieldRule::kTerm || rule == FieldRule::kWords ||
           rule == FieldRule::kChecksum;
}

class FieldRules : public testing::Test {
  protected:
    void check(const MessageRules& rules) {
        if (!seen_.insert(std::string(rules.name)).second) {
            return;
        }
        ASSERT_TRUE(messages_.contains(std::string(rules.name))) << rules.name;
        const auto& fields = messages_.at(std::string(rules.name));
        for (const auto& [number, field] : fields) {
            const auto* decision = rules.find(number);
            ASSERT_NE(decision, nullptr) << rules.name << "." << field.name << " has no decision";
            EXPECT_TRUE(fits(*decision, field, messages_)) << rules.name << "." << field.name;
            // Words of terms hold values; these hold none (an object's header has kind and size).
            if (field.name.ends_with("_word") && field.name != "non_value_word" &&
                field.name != "max_heap_word" && field.name != "header_word") {
                EXPECT_EQ(decision->rule, FieldRule::kTerm) << rules.name << "." << field.name;
            }
        }
        for (const auto& decision : rules.fields) {
            for (auto number = decision.first; number <= decision.last; ++number) {
                EXPECT_TRUE(fields.contains(number)) << rules.name << " has no field " << number;
            }
            if (decision.message != nullptr) {
                check(*decision.message);
            }
        }
    }

    Messages messages_ = declared_messages();
    std::set<std::string> seen_;
};

TEST_F(FieldRules, EveryFieldOfEveryRecordHasADecision) {
    for (unsigned number = 0; number <= 0xFFFF; ++number) {
        const auto decision = decision_of(static_cast<format::RecordKind>(number));
        ASSERT_EQ(decision.rule == KindRule::kFields, decision.message != nullptr);
        if (decision.message != nullptr) {
            check(*decision.message);
        }
    }
    for (const auto& [name, fields] : messages_) {
        if (name != "CrashSection") {
            EXPECT_TRUE(seen_.contains(name)) << name << " is not part of any record";
        }
    }
}

TEST_F(FieldRules, UnknownKindsAreRefused) {
    EXPECT_EQ(decision_of(static_cast<format::RecordKind>(200)).rule, KindRule::kRefuse);
    EXPECT_EQ(decision_of(format::RecordKind::kCrashIndex).rule, KindRule::kRefuse);
}

}  // namespace
}  // namespace beamdump::redact
