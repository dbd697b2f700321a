// Supervisors that restart children again and again: of OTP, of Elixir, and of which it is not
// known.
#include "findings_fixture.h"

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Atoms behind those of every sample.
enum RestartAtom : std::uint32_t {
    kGenServer = 8,
    kSupervisor,
    kInfinity,
    kStateTag,
    kStruct,
    kDynamic,
    kMaxRestarts,
    kMaxSeconds,
    kRestarts,
    kLoopHibernate,
    kServerData,
};
const std::vector<std::string> kRestartAtoms = {
    "gen_server",     "supervisor",  "infinity",
    "state",          "__struct__",  "Elixir.DynamicSupervisor",
    "max_restarts",   "max_seconds", "restarts",
    "loop_hibernate", "server_data"};

constexpr std::uint64_t kLoopStart = 0x5000;
constexpr std::uint64_t kHibernateStart = 0x5080;
/// Monotonic seconds as the sample is captured, 100 s after the node began.
constexpr std::int64_t kNow = -576'460'752 + 100;

std::uint64_t signed_word(std::int64_t value) {
    return small_word(static_cast<std::uint64_t>(value));
}

class RestartLoops : public FindingsFixture {
  protected:
    RestartLoops() {
        auto& builder = dump_.builder();
        builder.add_atoms(kGenServer, kRestartAtoms);
        records::Module module;
        module.set_name_atom(kGenServer);
        module.set_instance(records::MODULE_INSTANCE_CURRENT);
        module.set_code_start(kLoopStart);
        module.set_code_end(kLoopStart + 0x100);
        records::ModuleIndexPage page;
        auto& ref = *page.add_module();
        ref.set_name_atom(kGenServer);
        ref.set_instance(records::MODULE_INSTANCE_CURRENT);
        ref.set_code_start(kLoopStart);
        ref.set_code_end(kLoopStart + 0x100);
        ref.set_offset(builder.append(format::RecordKind::kModule, module));
        records::Functions functions;
        functions.add_start_address(kLoopStart);
        functions.add_name_atom(kLoopAtom);
        functions.add_arity(7);
        functions.add_start_address(kHibernateStart);
        functions.add_name_atom(kLoopHibernate);
        functions.add_arity(4);
        builder.append(format::RecordKind::kFunctions, functions);
        builder.trailer().add_module_index_offset(
            builder.append(format::RecordKind::kModuleIndexPage, page));
    }

    /// A supervisor that waits in gen_server:loop/7 with a state at the beginning of its heap.
    static SampleProcess waiting(std::uint64_t number, std::vector<std::uint64_t> heap) {
        SampleProcess process;
        process.number = number;
        process.heap = std::move(heap);
        process.stack = {kNil,
                         atom_word(kInfinity),
                         atom_word(kSupervisor),
                         boxed_word(heap_of(number)),
                         atom_word(kAlphaAtom),
                         pid_word(1),
                         kNormalExit};
        process.instruction_address = kLoopStart + 0x40;
        process.translated_module = kSupervisor;
        process.translated_arity = 1;
        return process;
    }
    /// The same in gen_server:loop_hibernate/4 of OTP 29, with `heap` behind the record of the
    /// server. `server_tag`: of that record.
    static SampleProcess hibernating(std::uint64_t number, std::vector<std::uint64_t> heap,
                                     std::uint32_t server_tag = kServerData) {
        const auto server = heap_of(number) + heap.size() * 8;
        heap.insert(heap.end(), {tuple_header(1), atom_word(server_tag)});
        auto process = waiting(number, std::move(heap));
        process.stack = {kNil, kNil, boxed_word(heap_of(number)), boxed_word(server), kNormalExit};
        process.instruction_address = kHibernateStart + 0x40;
        return process;
    }
    /// The same in erlang:hibernate/3 of OTP 25 and 27, which keeps [gen_server, wake_hib, [Parent,
    /// Name, State]].
    static SampleProcess dropped(std::uint64_t number, std::vector<std::uint64_t> heap,
                                 std::uint32_t module = kGenServer) {
        const auto inner = heap_of(number) + heap.size() * 8;
        const auto outer = inner + 6 * 8;
        heap.insert(heap.end(), {pid_word(1), list_word(inner + 16), atom_word(kAlphaAtom),
                                 list_word(inner + 32), boxed_word(heap_of(number)), kNil,
                                 atom_word(module), list_word(outer + 16), atom_word(kLoopAtom),
                                 list_word(outer + 32), list_word(inner), kNil});
        auto process = waiting(number, std::move(heap));
        process.stack = {kNormalExit};
        process.instruction_address = kReturnAddress;
        process.arguments = {atom_word(kAlphaAtom), atom_word(kLoopAtom), list_word(outer)};
        process.hibernated = true;
        return process;
    }
    /// The words of a state, then those of a list of four times, the last one 2 s ago.
    static std::vector<std::uint64_t> with_times(std::uint64_t number,
                                                 std::vector<std::uint64_t> words) {
        const auto first = heap_of(number) + words.size() * 8;
        for (std::uint64_t at = 0; at < 4; ++at) {
            words.push_back(signed_word(kNow - 2 - static_cast<std::int64_t>(at)));
            words.push_back(at == 3 ? kNil : list_word(first + (at + 1) * 16));
        }
        return words;
    }
    static std::vector<std::uint64_t> otp_state(std::uint64_t number) {
        const auto list = list_word(heap_of(number) + 10 * 8);
        return with_times(number, {tuple_header(9), atom_word(kStateTag), kNil, kNil, kNil, kNil,
                                   small_word(1000), small_word(3600), list, kNil});
    }
    static std::vector<std::uint64_t> struct_state(std::uint64_t number, std::uint32_t name) {
        constexpr std::uint64_t kMapHeader = 0x3C;
        const auto keys = heap_of(number) + 7 * 8;
        const auto list = list_word(keys + 5 * 8);
        return with_times(number,
                          {kMapHeader, 4, boxed_word(keys), atom_word(name), small_word(1000),
                           small_word(3600), list, tuple_header(4), atom_word(kStruct),
                           atom_word(kMaxRestarts), atom_word(kMaxSeconds), atom_word(kRestarts)});
    }

    std::string sentence(std::uint64_t number) const {
        return "<0." + std::to_string(number) +
               ".0> (supervisor:alpha/1) restarted its children 4 times within 3600 s, the last "
               "time 2 s before the dump: their work fails again and again. After more than 1000 "
               "it gives up.";
    }

    SampleDump dump_;
};

TEST_F(RestartLoops, SupervisorsThatDoNotReadAreTold) {
    const auto add = [&](std::uint64_t number, std::uint64_t queue, bool running) {
        auto process = waiting(number, otp_state(number));
        process.queue_length = queue;
        process.void_reason = running ? records::VOID_REASON_RUNNING : records::VOID_REASON_NONE;
        dump_.add(process);
    };
    add(1, 20, false);
    add(2, 19, false);
    add(3, 199, true);  // as one that is at work
    add(4, 200, true);
    const auto told = found(look(dump_), "system_process");
    ASSERT_EQ(told.size(), 2U);
    EXPECT_TRUE(told[0].starts_with("200 messages are unread in <0.4.0>")) << told[0];
    EXPECT_TRUE(told[1].starts_with("20 messages are unread in <0.1.0>")) << told[1];
}

TEST_F(RestartLoops, LoopsOfOtpAndElixirAreFound) {
    dump_.add(waiting(1, otp_state(1)));
    dump_.add(waiting(2, struct_state(2, kDynamic)));
    const auto findings = look(dump_);
    EXPECT_THAT(found(findings, "restart_loop"), ElementsAre(sentence(1), sentence(2)));
    EXPECT_EQ(left_out(findings, "restart_loop"), "")
        << program_.run({"backtrace", "node.beamdump", "<0.1.0>"}).out;
}

TEST_F(RestartLoops, LoopsOfASupervisorThatHibernatesAreFound) {
    dump_.add(hibernating(1, otp_state(1)));
    dump_.add(hibernating(2, otp_state(2), kAlphaAtom));
    const auto findings = look(dump_);
    EXPECT_THAT(found(findings, "restart_loop"), ElementsAre(sentence(1)));
    EXPECT_EQ(left_out(findings, "restart_loop"),
              "the restarts of 1 of 2 supervisors were looked at; the state of 1 is not known, as "
              "of one that starts a child");
    const auto state = program_.run({"term", "node.beamdump", "<0.1.0>", "state"});
    EXPECT_EQ(state.status, 0) << state.err;
    EXPECT_THAT(state.out, ::testing::StartsWith("state\ntuple of 9 elements"));
    const auto register_path = program_.run({"term", "node.beamdump", "<0.1.0>", "y(2)"});
    EXPECT_EQ(register_path.out, state.out);
    EXPECT_THAT(program_.run({"heap", "node.beamdump", "<0.1.0>"}).out,
                ::testing::HasSubstr("  state, gen_server:loop_hibernate/4  "));
}

TEST_F(RestartLoops, LoopsOfASupervisorWhoseStackIsDroppedAreFound) {
    dump_.add(dropped(1, otp_state(1)));
    dump_.add(dropped(2, otp_state(2), kAlphaAtom));
    auto awake = dropped(3, otp_state(3));
    awake.hibernated = false;
    dump_.add(awake);
    const auto findings = look(dump_);
    EXPECT_THAT(found(findings, "restart_loop"), ElementsAre(sentence(1)));
    EXPECT_EQ(left_out(findings, "restart_loop"),
              "the restarts of 1 of 3 supervisors were looked at; the states of 2 are not known, "
              "as of one that starts a child");
}

TEST_F(RestartLoops, AStateThatIsNotKnownIsLeftOut) {
    dump_.add(waiting(1, otp_state(1)));
    dump_.add(waiting(2, struct_state(2, kAlphaAtom)));
    auto working = waiting(3, otp_state(3));
    working.instruction_address = kReturnAddress;
    dump_.add(working);
    const auto findings = look(dump_);
    EXPECT_THAT(found(findings, "restart_loop"), ElementsAre(sentence(1)));
    EXPECT_EQ(
        left_out(findings, "restart_loop"),
        "the restarts of 1 of 3 supervisors were looked at; the states of 2 are not known, as "
        "of one that starts a child");
}

TEST_F(RestartLoops, WithoutSupervisorsNothingIsLeftOut) {
    dump_.add(alpha_process());
    const auto findings = look(dump_);
    EXPECT_THAT(found(findings, "restart_loop"), IsEmpty());
    EXPECT_EQ(left_out(findings, "restart_loop"), "");
}

}  // namespace
}  // namespace beamdump::test
