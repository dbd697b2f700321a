#include <libdump/redact/redactor.h>

#include <gtest/gtest.h>
#include <records.pb.h>

#include <string>

namespace beamdump::redact {
namespace {

using format::RecordKind;

/// A record after it was redacted, of the same size.
template <typename Message>
Message redacted(Redactor& redactor, RecordKind kind, const Message& message) {
    auto bytes = message.SerializeAsString();
    const auto done = redactor.record(kind, std::as_writable_bytes(std::span(bytes)));
    EXPECT_TRUE(done) << done.error().message;
    Message result;
    EXPECT_TRUE(result.ParseFromString(bytes));
    EXPECT_EQ(bytes.size(), message.ByteSizeLong());
    return result;
}

std::unique_ptr<Redactor> redactor(const Policy& policy) {
    auto made = Redactor::create(policy);
    EXPECT_TRUE(made);
    records::Node node;
    node.set_term_scheme(static_cast<std::uint32_t>(format::TermScheme::kOtp25));
    redacted(**made, RecordKind::kNode, node);
    return std::move(*made);
}

records::Atoms atoms(std::initializer_list<const char*> texts) {
    records::Atoms page;
    page.set_first_index(100);
    for (const auto* text : texts) {
        page.add_text(text);
    }
    return page;
}

TEST(Redactor, KeepsAtomsOfCodeAndHidesOthers) {
    auto made = redactor({});
    made->code_atom(101);
    const auto page =
        redacted(*made, RecordKind::kAtoms,
                 atoms({"a_secret", "my_module", "true", "größe", "€", "n@host", ""}));
    EXPECT_TRUE(page.text(0).starts_with("x_"));
    EXPECT_EQ(page.text(0).size(), 8U);
    EXPECT_EQ(page.text(1), "my_module");
    EXPECT_EQ(page.text(2), "true");
    EXPECT_EQ(page.text(3).size(), std::string("größe").size());
    EXPECT_NE(page.text(3), "größe");
    EXPECT_EQ(page.text(4).size(), 3U);
    EXPECT_NE(page.text(4), "€");
    EXPECT_EQ(page.text(5)[1], '@');
    EXPECT_FALSE(page.text(5).ends_with("host"));
}

TEST(Redactor, PseudonymsFollowFromTheSalt) {
    Policy policy;
    policy.salt = "one";
    const auto page = atoms({"a_secret", "another_secret"});
    const auto first = redacted(*redactor(policy), RecordKind::kAtoms, page);
    EXPECT_EQ(first.SerializeAsString(),
              redacted(*redactor(policy), RecordKind::kAtoms, page).SerializeAsString());
    policy.salt = "two";
    EXPECT_NE(first.text(1), redacted(*redactor(policy), RecordKind::kAtoms, page).text(1));
    EXPECT_NE(redacted(*redactor({}), RecordKind::kAtoms, page).text(1),
              redacted(*redactor({}), RecordKind::kAtoms, page).text(1));
}

TEST(Redactor, SamplesNameErlangCodeByAtomsAlone) {
    // A function's text would pass hide_atoms.
    records::Samples page;
    page.add_code()->mutable_function()->set_module_atom(101);
    page.add_code()->set_name("memcpy");
    page.mutable_time()->add_remark("the file /secret/beam.smp has no symbols");
    const auto kept = redacted(*redactor({}), RecordKind::kSamples, page);
    EXPECT_EQ(kept.code(0).function().module_atom(), 101U);
    EXPECT_EQ(kept.code(1).name(), "memcpy");
    EXPECT_EQ(kept.time().remark(0).find("secret"), std::string::npos);
    EXPECT_TRUE(kept.time().remark(0).ends_with("has no symbols"));
}

TEST(Redactor, AtomsByPatterns) {
    Policy policy;
    policy.keep_atoms = {"my_*"};
    policy.hide_atoms = {"*_key", "true"};
    const auto page = redacted(*redactor(policy), RecordKind::kAtoms,
                               atoms({"my_record", "my_key", "true", "other"}));
    EXPECT_EQ(page.text(0), "my_record");
    EXPECT_NE(page.text(1), "my_key");
    EXPECT_NE(page.text(2), "true");
    EXPECT_NE(page.text(3), "other");
}

TEST(Redactor, AtomsOfListsOfTerms) {
    Policy policy;
    policy.keys.hide = {"any"};
    policy.keep_atoms = {"by_*"};
    const auto refused = Redactor::create(policy);  // without a look at the terms
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    auto kept = std::make_shared<KeptTerms>();
    kept->keep_atom(100);
    for (const std::uint64_t hidden : {101, 103, 104}) {
        kept->hide_atom(hidden);
    }
    kept->seal();
    auto made = Redactor::create(policy, kept);
    ASSERT_TRUE(made);
    (*made)->code_atom(103);
    const auto page =
        redacted(**made, RecordKind::kAtoms,
                 atoms({"kept_term", "by_pattern_but_hidden", "by_pattern", "my_module", "true"}));
    EXPECT_EQ(page.text(0), "kept_term");
    EXPECT_TRUE(page.text(1).starts_with("x_"));
    EXPECT_EQ(page.text(2), "by_pattern");
    EXPECT_EQ(page.text(3), "my_module");
    EXPECT_EQ(page.text(4), "true");
}

TEST(Redactor, HidesTextsInRecords) {
    auto made = redactor({});
    records::Node node;
    node.set_term_scheme(1);
    for (const auto* argument : {"/usr/bin/beam", "-t", "5000", "--", "-t", "5000", "-secret"}) {
        node.add_arguments(argument);
    }
    const auto shown = redacted(*made, RecordKind::kNode, node);
    const std::vector<std::string> arguments(shown.arguments().begin(), shown.arguments().end());
    EXPECT_EQ(arguments, (std::vector<std::string>{"xxxxxxxxxxxxx", "-t", "5000", "--", "xx",
                                                   "xxxx", "xxxxxxx"}));
    records::Trailer trailer;
    trailer.add_warning("cannot read \"/home/joe\" of node@joe, the node's 'joe'");
    EXPECT_EQ(redacted(*made, RecordKind::kTrailer, trailer).warning(0),
              "cannot read xxxxxxxxxxx of xxxxxxxxx the node's xxxxx");
}

TEST(Redactor, HidesMessages) {
    auto made = redactor({});
    constexpr std::uint64_t kNumberWord = 123456U << 4U | 0xFU;
    records::Messages page;
    auto& entry = *page.add_entry();
    entry.set_term_word(kNumberWord);
    auto& fragment = *entry.add_fragment();
    fragment.set_kind(static_cast<std::uint32_t>(format::RegionKind::kMessageFragment));
    fragment.set_total_words(2);
    fragment.add_words(1U << 6U);
    fragment.add_words(kNumberWord);
    entry.mutable_external()->set_data(std::string("\x83\x6b\0\7secrets", 11));
    entry.mutable_external()->set_dist_flags(0);
    const auto shown = redacted(*made, RecordKind::kMessages, page).entry(0);
    EXPECT_EQ(shown.term_word(), 0xFU);
    EXPECT_EQ(shown.fragment(0).words(0), 1U << 6U);
    EXPECT_EQ(shown.fragment(0).words(1), 0xFU);
    EXPECT_EQ(shown.external().data(), std::string("\x83\x6d\0\0\0\5xxxxx", 11));
}

TEST(Redactor, RefusesWhatItHasNoDecisionAbout) {
    auto made = redactor({});
    // Field 99 of an Epoch: 99 << 3, as a varint, then a number.
    std::string unknown("\x98\x06\x01", 3);
    auto done = made->record(RecordKind::kEpoch, std::as_writable_bytes(std::span(unknown)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
    std::string payload(8, 'x');
    done = made->record(static_cast<RecordKind>(200), std::as_writable_bytes(std::span(payload)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
    records::CrashSections page;
    page.add_section()->set_tag("ets");
    auto bytes = page.SerializeAsString();
    bytes += std::string("\x0a\x02\x28\x01", 4);  // a section with field 5
    EXPECT_FALSE(
        made->record(RecordKind::kCrashSections, std::as_writable_bytes(std::span(bytes))));
}

TEST(Redactor, HidesSectionsOfCrashDumpsLineByLine) {
    auto made = redactor({});
    made->code_text("shop");
    records::CrashSections page;
    const auto add = [&page](std::string tag, std::string argument, std::string lines) {
        auto& section = *page.add_section();
        section.set_tag(std::move(tag));
        section.set_argument(std::move(argument));
        section.set_lines(std::move(lines));
        return &section;
    };
    add("ets", "<0.9.0>", "Name: 'a secret'\nObjects: 3\nType: set\nHeir: secret\n");
    add("mod", "shop", "Current size: 1\nOld size: secret\n");
    add("secrets", "secret", "Objects: 3\nsecret\n");
    add("atoms", "", "true\nabcdefgh\n");
    add("ets", "<0.9.0>", "Objects: 1\nWords: 2\nType: secret\n")->set_continues(true);
    const auto shown = redacted(*made, RecordKind::kCrashSections, page);
    const auto& table = shown.section(0);
    EXPECT_EQ(table.argument(), "<0.9.0>");
    EXPECT_TRUE(table.lines().starts_with("Name: 'x_")) << table.lines();
    EXPECT_TRUE(table.lines().ends_with("'\nObjects: 3\nType: set\nxxxxxxxxxxxx\n"))
        << table.lines();
    EXPECT_EQ(shown.section(1).argument(), "shop");
    EXPECT_EQ(shown.section(1).lines(), "Current size: 1\nOld size: xxxxxx\n");
    EXPECT_EQ(shown.section(2).tag(), "xxxxxxx");
    EXPECT_EQ(shown.section(2).argument(), "xxxxxx");
    EXPECT_EQ(shown.section(2).lines(), "xxxxxxxxxx\nxxxxxx\n");
    EXPECT_TRUE(shown.section(3).lines().starts_with("true\nx_")) << shown.section(3).lines();
    // The first line may be the rest of another.
    EXPECT_EQ(shown.section(4).lines(), "xxxxxxxxxx\nWords: 2\nType: xxxxxx\n");
}

TEST(Redactor, KeepsWordsThatACrashDumpLacksAndAddressesThatItsConversionMakesUp) {
    auto made = redactor({});
    records::Capture capture;
    capture.set_mode(records::CAPTURE_MODE_CRASH_DUMP);
    capture.set_slogan("secret");
    capture.set_cut_off("in its section =timer:secret, after it");
    const auto shown = redacted(*made, RecordKind::kCapture, capture);
    EXPECT_EQ(shown.slogan(), "xxxxxx");
    EXPECT_EQ(shown.cut_off(), "in its section xxxxxxxxxxxxxx after it");
    made->node_scheme(format::TermScheme::kOtp25);
    records::Process process;
    process.add_argument_words(format::kLackingWord);
    process.add_argument_words(kMadeUpAddresses + 0x2);
    const auto words = redacted(*made, RecordKind::kProcess, process).argument_words();
    EXPECT_EQ(words[0], format::kLackingWord);
    EXPECT_EQ(words[1], kMadeUpAddresses + 0x2);
    EXPECT_EQ(made->unread_words(), 0U);
}

}  // namespace
}  // namespace beamdump::redact
