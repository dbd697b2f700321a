%% State of the emulator: a scheduler that makes no thread progress, as it is in a native call (of the
%% library that BEAMDUMP_EMULATOR_NIF names, without ".so"), and what waits for that; a fixed table;
%% NIF resources; binaries that a NIF leaks; links and monitors.
-module(emulator).
-export([start/1, tell/1, hold/2, resource/0, circle/2, leak/2, keep/2]).

-define(TURN_MS, 5).

start(Scale) ->
    case os:getenv("BEAMDUMP_EMULATOR_NIF") of
        false -> ok;
        Library -> ok = erlang:load_nif(Library, 0)
    end,
    ok = sample:start(Scale).

hold(_Begun, _File) -> erlang:nif_error(not_loaded).
resource() -> erlang:nif_error(not_loaded).
circle(_Resource, _Offset) -> erlang:nif_error(not_loaded).
leak(_Count, _Size) -> erlang:nif_error(not_loaded).
keep(_Count, _Size) -> erlang:nif_error(not_loaded).

%% "hold FILE": until the file is there.
tell([<<"hold">>, File]) ->
    %% The modules are loaded before the emulator cannot.
    Loading = [{emulator_first, prepared(far)}, {emulator_second, prepared(parked)}],
    Last = erlang:system_info(schedulers),
    true = Last > 1,
    %% What waits in the queue of a scheduler that is held is not taken over at once.
    _ = process_flag(scheduler, 1),
    Path = binary_to_list(File),
    Begun = Path ++ ".begun",
    false = is_file(Begun),
    named(held, fun() -> hold(Begun, Path) end, [{scheduler, Last}]),
    await(fun() -> is_file(Begun) end),
    %% Each is suspended before the next one comes.
    [begin
         named(Name, fun() -> persistent_term:put(Name, {Name}) end, [{scheduler, 1}]),
         await(fun() -> suspended(Name) end)
     end || Name <- [first_put, second_put, third_put]],
    [begin
         named(Name, fun() -> ok = erlang:finish_loading([Prepared]) end, [{scheduler, 1}]),
         await(fun() -> suspended(Name) end)
     end || {Name, Prepared} <- Loading],
    %% It asks, and does not wait for the answer.
    Asked = self(),
    named(code_checker, fun() ->
        async = erlang:check_process_code(whereis(held), emulator, [{async, make_ref()}]),
        Asked ! asked,
        wait()
    end, [{scheduler, 1}]),
    receive asked -> ok end,
    %% It waits for the answer.
    named(waiting_checker, fun() ->
        erlang:check_process_code(whereis(held), emulator)
    end, [{scheduler, 1}]),
    await(fun() -> waiting(waiting_checker) end),
    <<"ok">>;
%% "circle OFFSET", that of a Binary's reference count: a process whose list of off-heap objects is a
%% circle ends, and then one puts a persistent term. No collection may walk that list before.
tell([<<"circle">>, Offset]) ->
    Last = erlang:system_info(schedulers),
    true = Last > 1,
    Asked = self(),
    Pid = spawn_opt(fun() ->
        Resource = resource(),
        ok = circle(Resource, binary_to_integer(Offset)),
        Asked ! made,
        receive go -> exit(normal) end
    end, [{scheduler, Last}, {min_heap_size, 100000}]),
    receive made -> ok end,
    named(circle_put, fun() ->
        Pid ! go,
        receive after 500 -> ok end,
        persistent_term:put(circle_put, {circle_put})
    end, [{scheduler, 1}]),
    list_to_binary(pid_to_list(Pid));
%% "delayed FILE COUNT": blocks of a scheduler's allocator that another one gives back while the first one
%% is in a native call, until the file is there.
tell([<<"delayed">>, File, Count]) ->
    Last = erlang:system_info(schedulers),
    true = Last > 1,
    _ = process_flag(scheduler, 1),
    Path = binary_to_list(File),
    Begun = Path ++ ".begun",
    Asked = self(),
    Keeper = named(delayed_keeper, fun() ->
        receive
            {keep, Binaries} ->
                Asked ! kept,
                receive drop -> true = is_list(Binaries) end
        end,
        true = erlang:garbage_collect(),
        Asked ! dropped,
        wait()
    end, [{scheduler, 1}]),
    {_, Reference} = spawn_opt(fun() ->
        Keeper ! {keep, [binary:copy(<<N:32>>, 250) || N <- lists:seq(1, binary_to_integer(Count))]}
    end, [{scheduler, Last}, monitor]),
    receive kept -> ok end,
    receive {'DOWN', Reference, process, _, _} -> ok end,
    named(held, fun() -> hold(Begun, Path) end, [{scheduler, Last}]),
    await(fun() -> is_file(Begun) end),
    Keeper ! drop,
    receive dropped -> integer_to_binary(Last) end;
tell([<<"lock">>]) ->
    Asked = self(),
    named(lock_holder, fun() ->
        true = global:set_lock({emulator_lock, self()}),
        Asked ! locked,
        wait()
    end, []),
    receive locked -> ok end,
    named(lock_waiter, fun() -> global:set_lock({emulator_lock, self()}) end, []),
    await(fun() -> current_module(lock_waiter) =:= global andalso waiting(lock_waiter) end),
    <<"ok">>;
tell([<<"busy_port">>]) ->
    Asked = self(),
    named(port_sender, fun() ->
        Port = open_port({spawn_executable, "/bin/sleep"}, [{args, ["1000"]}, binary]),
        Asked ! {port, Port},
        send(Port)
    end, []),
    %% Each is suspended before the next one sends.
    await(fun() -> suspended(port_sender) end),
    receive {port, Port} -> ok end,
    [begin
         named(Name, fun() -> send(Port) end, []),
         await(fun() -> suspended(Name) end)
     end || Name <- [second_sender, third_sender]],
    iolist_to_binary(erlang:port_to_list(Port));
tell([<<"orphaned_ports">>, Count]) ->
    %% Their owner unlinks them and exits.
    Asked = self(),
    {Pid, Reference} = spawn_monitor(fun() ->
        Ports = [open_port({spawn_executable, "/bin/sleep"}, [{args, ["1000"]}])
                 || _ <- lists:seq(1, binary_to_integer(Count))],
        true = lists:all(fun erlang:unlink/1, Ports),
        Asked ! {self(), Ports}
    end),
    receive {Pid, Ports} -> ok end,
    receive {'DOWN', Reference, process, Pid, normal} -> ok end,
    iolist_to_binary(lists:join(" ", [pid_to_list(Pid) | [erlang:port_to_list(Port) || Port <- Ports]]));
tell([<<"queue_size">>, Port]) ->
    {queue_size, Size} = erlang:port_info(list_to_port(binary_to_list(Port)), queue_size),
    text(Size);
tell([<<"living_ports">>, Owner]) ->
    %% Those whose owner the port itself says is that process.
    text(length([Port || Port <- erlang:ports(),
                         {connected, Pid} <- [erlang:port_info(Port, connected)],
                         pid_to_list(Pid) =:= binary_to_list(Owner)]));
tell([<<"monitors">>, Count]) ->
    Asked = self(),
    named(monitored, fun wait/0, []),
    Monitored = whereis(monitored),
    named(monitoring, fun() ->
        [erlang:monitor(process, Monitored) || _ <- lists:seq(1, binary_to_integer(Count))],
        Asked ! related,
        wait()
    end, []),
    receive related -> <<"ok">> end;
tell([<<"suspend">>]) ->
    Asked = self(),
    named(sleeper, fun wait/0, []),
    named(suspender, fun() ->
        true = erlang:suspend_process(whereis(sleeper)),
        Asked ! suspended,
        wait()
    end, []),
    receive suspended -> ok end,
    _ = [sleeper ! N || N <- lists:seq(1, 100)],
    <<"ok">>;
tell([<<"fix">>]) ->
    Asked = self(),
    Table = ets:new(emulator_fixed, [named_table, public]),
    [begin
         named(Name, fun() ->
             [true = ets:safe_fixtable(Table, true) || _ <- lists:seq(1, Times)],
             Asked ! fixed,
             wait()
         end, []),
         receive fixed -> ok end
     end || {Name, Times} <- [{fixer_once, 1}, {fixer_twice, 2}]],
    wait_with(Table);
tell([<<"delete_fixed">>, Rows, Deleted]) ->
    %% Of a table that is fixed.
    true = ets:insert(emulator_fixed, [{N} || N <- lists:seq(1, binary_to_integer(Rows))]),
    [true = ets:delete(emulator_fixed, N) || N <- lists:seq(1, binary_to_integer(Deleted))],
    text(ets:info(emulator_fixed, size));
tell([<<"fixed">>]) ->
    %% {Since, [{Pid, Count}]}
    text(ets:info(emulator_fixed, safe_fixed));
tell([<<"trace">>, Count]) ->
    %% Processes that are traced, and one more by another tracer; from OTP 27 on in a session each.
    Tracer = named(planted_tracer, fun wait/0, []),
    Other = named(other_tracer, fun wait/0, []),
    Traced = [spawn(fun wait/0) || _ <- lists:seq(1, binary_to_integer(Count))],
    Last = named(traced_by_other, fun wait/0, []),
    Asked = self(),
    %% Sessions end with their last reference.
    named(session_keeper, fun() ->
        Sessions = trace(Traced, Tracer),
        1 = erlang:trace(Last, true, ['receive', {tracer, Other}]),
        Asked ! traced,
        wait(),
        length(Sessions)
    end, []),
    receive traced -> ok end,
    text(lists:sum([1 || Pid <- processes(), traced(Pid)]));
tell([<<"trace_calls">>]) ->
    Asked = self(),
    named(call_session_keeper, fun() ->
        Sessions = trace_calls(named(call_tracer, fun wait/0, [])),
        Asked ! {traced, call_traces(Sessions)},
        receive {no_more, Asks} -> ok end,
        _ = [trace:session_destroy(Session) || {Session, _} <- Sessions],
        _ = erlang:trace_pattern({'_', '_', '_'}, false, [local, meta, call_count, call_time]),
        _ = erlang:trace_pattern({'_', '_', '_'}, false, [global]),
        Asks ! no_more
    end, []),
    %% [{Module, Function, Arity, Session, Flags}]
    receive {traced, Traces} -> text(Traces) end;
tell([<<"trace_no_calls">>]) ->
    call_session_keeper ! {no_more, self()},
    receive no_more -> <<"ok">> end;
tell([<<"resources">>, Count]) ->
    Asked = self(),
    named(resource_holder, fun() ->
        Resources = [resource() || _ <- lists:seq(1, binary_to_integer(Count))],
        _ = ets:new(emulator_resource, [named_table]),
        true = ets:insert(emulator_resource, {hd(Resources), [hd(Resources)]}),
        Asked ! made,
        wait(),
        length(Resources)
    end, []),
    receive made -> <<"ok">> end;
tell([<<"leak">>, Count, Size]) ->
    ok = leak(binary_to_integer(Count), binary_to_integer(Size)),
    <<"ok">>;
tell([<<"keep">>, Count, Size]) ->
    ok = keep(binary_to_integer(Count), binary_to_integer(Size)),
    <<"ok">>;
tell([<<"binaries">>, Count, Size]) ->
    Asked = self(),
    named(binary_holder, fun() ->
        Binaries = [binary:copy(<<"R">>, binary_to_integer(Size))
                    || _ <- lists:seq(1, binary_to_integer(Count))],
        Asked ! made,
        wait(),
        length(Binaries)
    end, []),
    receive made -> <<"ok">> end;
tell([<<"relations">>]) ->
    named(hub, fun wait/0, []),
    Hub = whereis(hub),
    Asked = self(),
    [begin
         spawn(fun() ->
             link(Hub),
             [erlang:monitor(process, Hub) || _ <- lists:seq(1, 3)],
             Asked ! related,
             wait()
         end),
         receive related -> ok end
     end || _ <- lists:seq(1, 40)],
    named(watcher, fun() ->
        [erlang:monitor(process, Pid) || Pid <- lists:sublist(processes(), 10)],
        erlang:monitor(time_offset, clock_service),
        _ = alias(),
        process_flag(trap_exit, true),
        Asked ! related,
        wait()
    end, []),
    receive related -> <<"ok">> end;
tell([<<"related">>]) ->
    text([{Pid, length(Links), length(Monitors), length(By)}
          || Pid <- processes(),
             [{links, Links}, {monitors, Monitors}, {monitored_by, By}] <-
                 [erlang:process_info(Pid, [links, monitors, monitored_by])]]).

trace(Processes, Tracer) ->
    case erlang:system_info(otp_release) of
        Release when Release < "27" ->
            [1 = erlang:trace(Pid, true, [send, call, {tracer, Tracer}]) || Pid <- Processes],
            [];
        _ ->
            Session = trace:session_create(planted_session, Tracer, []),
            Idle = trace:session_create(idle_session, Tracer, []),
            [1 = trace:process(Session, Pid, true, [send, call]) || Pid <- Processes],
            [Session, Idle]
    end.

%% In any session.
traced(Pid) ->
    case erlang:system_info(otp_release) of
        Release when Release < "27" ->
            erlang:trace_info(Pid, flags) =/= {flags, []};
        _ ->
            trace:session_info(Pid) =/= []
    end.

%% From OTP 27 on in sessions, whose names it gives: [{Session, Name}].
trace_calls(Tracer) ->
    _ = [erlang:trace_pattern(Function, true, Flags)
         || {Function, Flags} <- [{{?MODULE, start, 1}, [local]},
                                  {{?MODULE, start, 1}, [call_count]},
                                  {{?MODULE, trace, 2}, [local]},
                                  {{erlang, statistics, 1}, [call_time]},
                                  {{ets, tab2list, 1}, [{meta, Tracer}]},
                                  {{gen_server, call, 2}, [{meta, Tracer}]},
                                  {{gen_server, '_', '_'}, [global]}]],
    case erlang:system_info(otp_release) of
        Release when Release < "27" ->
            [];
        _ ->
            Planted = trace:session_create(planted_calls, Tracer, []),
            Other = trace:session_create(other_calls, Tracer, []),
            1 = trace:function(Planted, {?MODULE, start, 1}, true, [local]),
            1 = trace:function(Planted, {ets, tab2list, 1}, true, [call_memory]),
            1 = trace:function(Planted, {ets, foldl, 3}, true, []),
            1 = trace:function(Other, {?MODULE, start, 1}, true, [call_time]),
            [{Planted, planted_calls}, {Other, other_calls}]
    end.

%% Of each function of each module.
call_traces(Sessions) ->
    lists:append(
        [call_traces(Name, fun(Function) -> info(Session, Function) end)
         || {Session, Name} <- [{none, legacy} | Sessions]]).

call_traces(Session, Info) ->
    [{Module, Function, Arity, Session, [Flag || {Flag, Value} <- Found, Value =/= false]}
     || {Module, _} <- code:all_loaded(),
        {Function, Arity} <- Module:module_info(functions),
        {all, Facts} <- [Info({Module, Function, Arity})],
        is_list(Facts),
        Found <- [[case Fact of
                       {traced, Kind} -> {Kind, Kind};
                       _ -> Fact
                   end || {Key, _} = Fact <- Facts, Key =/= match_spec, Key =/= meta_match_spec]],
        lists:any(fun({_, Value}) -> Value =/= false end, Found)].

info(none, Function) -> erlang:trace_info(Function, all);
info(Session, Function) -> trace:info(Session, Function, all).

text(Term) -> iolist_to_binary(io_lib:format("~0p", [Term])).

named(Name, Body, Options) ->
    Asked = self(),
    Pid = spawn_opt(fun() ->
        register(Name, self()),
        Asked ! {self(), registered},
        Body()
    end, Options),
    receive {Pid, registered} -> Pid end.

%% The table is this process's, which has to live.
wait_with(Table) ->
    Keeper = named(table_keeper, fun wait/0, []),
    true = ets:give_away(Table, Keeper, []),
    <<"ok">>.

wait() -> receive stop -> ok end.

prepared(Module) ->
    {Module, Code, _} = code:get_object_code(Module),
    erlang:prepare_loading(Module, Code).

await(Condition) ->
    case Condition() of
        true -> ok;
        %% Not timer:sleep/1: to load its module the code server would wait for the scheduler that is held.
        false -> receive after ?TURN_MS -> await(Condition) end
    end.

%% Without the file server, which may have to wait.
is_file(Path) ->
    element(1, prim_file:read_file_info(Path)) =:= ok.

suspended(Name) ->
    erlang:process_info(whereis(Name), status) =:= {status, suspended}.

waiting(Name) ->
    erlang:process_info(whereis(Name), status) =:= {status, waiting}.

current_module(Name) ->
    {current_function, {Module, _, _}} = erlang:process_info(whereis(Name), current_function),
    Module.

send(Port) ->
    true = erlang:port_command(Port, binary:copy(<<0>>, 1000000)),
    send(Port).
