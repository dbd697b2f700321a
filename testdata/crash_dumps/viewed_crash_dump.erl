%% What OTP's crashdump_viewer makes of a crash dump, without its graphics: its functions are called
%% where a gen_server would call them, in this process, so that terms are not copied and keep what
%% they share. It has no limit to turn off: what it cuts is in the graphics, but for binaries, which
%% it leaves in the file until they are asked for. Its terms have no bounds either: one that is large
%% when flat must not be printed.
%%
%%   -run viewed_crash_dump write DUMP ANSWERS [LEFT_OUT...]
%% writes ANSWERS, one JSON object a line: general information, then the process table and each
%% process's details, without the terms of those registered as LEFT_OUT (or with that pid). Terms are
%% as crash_dump_terms has them.
%%
%%   -run viewed_crash_dump measure DUMP [PID...]
%% prints how many milliseconds it takes to load the dump, to make the process table and to get each
%% process's details, one a line.
-module(viewed_crash_dump).
-export([write/1, measure/1]).

%% ---- all that it says --------------------------------------------------------------------------

write([Dump, Answers | LeftOut]) ->
    State = load(Dump),
    {ok, Device} = file:open(Answers, [write, raw, delayed_write]),
    {General, Warnings, WithGeneral} = ask(general_info, State),
    write_line(Device, [{what, string("general")}, {warnings, texts(Warnings)}
                        | fields(general_info(), General)]),
    Node = node_name(General),
    {Table, TableWarnings, Ready} = ask(procs_summary, WithGeneral),
    write_line(Device, [{what, string("table")}, {processes, integer(length(Table))},
                        {warnings, texts(TableWarnings)}]),
    lists:foreach(fun(Row) -> write_process(Device, Row, LeftOut, Node, Ready) end,
                  lists:keysort(2, Table)),
    write_line(Device, [{what, string("end")}]),
    ok = file:close(Device),
    halt(0).

write_process(Device, Row, LeftOut, Node, State) ->
    Pid = pid_to_list(element(2, Row)),
    Named = [Pid, element(3, Row)],
    write_line(Device, [{what, string("row")} | fields(proc(), Row)]),
    case LeftOut -- Named of
        LeftOut ->
            write_line(Device, details(Pid, Node, State));
        _ ->
            write_line(Device, [{what, string("left_out")}, {pid, string(Pid)}])
    end.

%% It fails where the VM's text is not what it expects, such as an atom with a newline.
details(Pid, Node, State) ->
    try ask({proc_details, Pid}, State) of
        {Details, Warnings, _} ->
            [{what, string("details")}, {warnings, texts(Warnings)} | fields(proc(), Details)]
                ++ terms(Details, Node, State)
    catch
        error:Reason:Stack ->
            forget_position(),
            {Module, Function, _, _} = hd(Stack),
            [{what, string("failed")}, {pid, string(Pid)},
             {reason, string(io_lib:format("~ts:~ts: ~0tP", [Module, Function, Reason, 10]))}]
    end.

%% Where it was in the file, which it keeps in the process dictionary.
forget_position() ->
    case erase(fd) of
        undefined -> ok;
        Fd -> _ = file:close(Fd)
    end,
    lists:foreach(fun erase/1, [chunk, pos, line_map, incomplete_heap]).

terms(Details, Node, State) ->
    Of = #{node => Node, expand => fun(Where) -> expand(Where, State) end},
    Members = lists:zip(proc(), tl(tuple_to_list(Details))),
    [{stack, array([stack_line(Line, Of) || Line <- proplists:get_value(stack_dump, Members)])},
     {messages, array([object([{term, term(Term, Of)}, {token, term(Token, Of)}])
                       || {Term, Token} <- proplists:get_value(msg_q, Members)])},
     {dictionary, array([dictionary_entry(Entry, Of)
                         || Entry <- proplists:get_value(dict, Members)])}].

%% As it stands in the dump, the quotes that its text may need taken off.
node_name(General) ->
    Name = proplists:get_value(node_name, lists:zip(general_info(), tl(tuple_to_list(General)))),
    unicode:characters_to_binary(string:trim(Name, both, "'")).

%% A line of the stack: an address with what is told of it, or a register.
stack_line({Label, Content}, Of) ->
    Text = atom_to_list(Label),
    case {Text, is_told(Content)} of
        {"0x" ++ _, _} -> object([{address, string(Text)}, {told, string(Content)}]);
        {_, true} -> object([{register, string(Text)}, {told, string(Content)}]);
        {_, false} -> object([{register, string(Text)}, {term, term(Content, Of)}])
    end.

%% It has the same list for an information string as for a list in a register.
is_told("Catch 0x" ++ _) -> true;
is_told(_) -> false.

dictionary_entry({Key, Value}, Of) ->
    object([{key, term(Key, Of)}, {value, term(Value, Of)}]);
dictionary_entry(Incomplete, Of) ->
    object([{incomplete, term(Incomplete, Of)}]).

expand(Where, State) ->
    {reply, {ok, Bytes}, _} = crashdump_viewer:handle_call({expand_binary, Where}, none, State),
    Bytes.

%% ---- how long it takes -------------------------------------------------------------------------

measure([Dump | Pids]) ->
    {Load, State} = timed(fun() -> load(Dump) end),
    print("load", Load),
    {Table, {_, _, Ready}} = timed(fun() -> ask(procs_summary, element(3, ask(general_info, State)))
                                   end),
    print("table", Table),
    lists:foreach(fun(Pid) ->
                          {Milliseconds, _} = timed(fun() -> ask({proc_details, Pid}, Ready) end),
                          print(Pid, Milliseconds)
                  end, Pids),
    halt(0).

timed(Do) ->
    Before = erlang:monotonic_time(microsecond),
    Result = Do(),
    {(erlang:monotonic_time(microsecond) - Before) / 1000, Result}.

print(What, Milliseconds) ->
    io:format("~ts ~.1f~n", [What, Milliseconds]).

%% ---- crashdump_viewer --------------------------------------------------------------------------

load(Dump) ->
    {ok, Empty} = crashdump_viewer:init([]),
    {noreply, State} = crashdump_viewer:handle_cast({read_file, Dump}, Empty),
    case element(2, State) of
        undefined -> error({not_loaded, Dump});
        _ -> State
    end.

ask(Question, State) ->
    {reply, {ok, Answer, Warnings}, Next} = crashdump_viewer:handle_call(Question, none, State),
    {Answer, Warnings, Next}.

%% The fields of its records, in their order. Between OTP 25 and 29 they are the same.
general_info() ->
    [created, slogan, system_vsn, compile_time, taints, node_name, num_atoms, num_procs, num_ets,
     num_timers, num_fun, mem_tot, mem_max, instr_info, thread].

proc() ->
    [pid, name, init_func, parent, start_time, state, current_func, msg_q_len, msg_q, last_calls,
     links, monitors, mon_by, prog_count, cp, arity, dict, reds, num_heap_frag, heap_frag_data,
     stack_heap, old_heap, heap_unused, old_heap_unused, bin_vheap, old_bin_vheap,
     bin_vheap_unused, old_bin_vheap_unused, new_heap_start, new_heap_top, stack_top, stack_end,
     old_heap_start, old_heap_top, old_heap_end, memory, stack_dump, run_queue, int_state].

%% Without the terms, which are written apart.
fields(Names, Record) ->
    [{Name, field(Name, Value)} || {Name, Value} <- lists:zip(Names, tl(tuple_to_list(Record))),
                                   not lists:member(Name, [msg_q, dict, stack_dump])].

field(_, undefined) -> <<"null">>;
field(_, Integer) when is_integer(Integer) -> integer(Integer);
field(_, Pid) when is_pid(Pid) -> string(pid_to_list(Pid));
field(_, Atom) when is_atom(Atom) -> string(atom_to_list(Atom));
field(current_func, {What, Function}) ->
    object([{what, string(What)}, {function, string(Function)}]);
field(Name, Others) when Name =:= links; Name =:= monitors; Name =:= mon_by ->
    array([object([{other, string(Other)}, {shown, string(Shown)}]) || {Other, Shown} <- Others]);
field(last_calls, Calls) -> texts(Calls);
field(_, Text) -> string(Text).

%% ---- JSON --------------------------------------------------------------------------------------

write_line(Device, Members) -> ok = file:write(Device, [object(Members), $\n]).

object(Members) ->
    [${, lists:join($,, [[$", atom_to_binary(Name), <<"\":">>, Value] || {Name, Value} <- Members]),
     "}"].

array(Values) -> [$[, lists:join($,, Values), $]].

texts(Texts) -> array([string(Text) || Text <- Texts]).

integer(Integer) -> integer_to_binary(Integer).

term(Term, Of) -> quoted(iolist_to_binary(crash_dump_terms:text(Term, Of))).

%% Characters, or bytes in no encoding.
string(Text) ->
    quoted(case unicode:characters_to_binary(Text) of
               Utf8 when is_binary(Utf8) -> Utf8;
               _ -> << <<Byte/utf8>> || <<Byte>> <= iolist_to_binary(Text) >>
           end).

quoted(Utf8) -> [$", << <<(escape(Character))/binary>> || <<Character/utf8>> <= Utf8 >>, $"].

escape($") -> <<"\\\"">>;
escape($\\) -> <<"\\\\">>;
escape(Character) when Character < 32 -> list_to_binary(io_lib:format("\\u~4.16.0b", [Character]));
escape(Character) -> <<Character/utf8>>.
