%% Processes in every state in which one can rest, with every kind of stack.
-module(zoo_states).
-compile(nowarn_deprecated_catch).
-export([start/0, hibernate/3, woken/3, spin/3, keep_busy/1, caught/2, nothing/0, guarded/1]).

start() ->
    Terms = {zoo_terms:id(kept), "string", <<"binary">>},
    lists:foreach(fun start/1, stacks(Terms) ++ waits() ++ options()),
    start({zoo_hibernated, fun() -> hibernate(zoo_hibernated, Terms, lists:seq(1, 9)) end}),
    start({zoo_hibernated_by_proc_lib,
           fun() -> proc_lib:hibernate(?MODULE, woken, [Terms, 2, 3]) end}),
    start({zoo_proc_lib, fun() -> proc_lib:hibernate(zoo, rest, []) end}, fun proc_lib:spawn/1),
    zoo_suspended:start().

start({Name, Body}) -> start({Name, Body}, fun erlang:spawn/1);
start({Name, Body, Options}) -> start({Name, Body}, fun(Fun) -> spawn_opt(Fun, Options) end).

%% Body comes to rest, or never returns.
start({Name, Body}, Spawn) ->
    Owner = self(),
    zoo:await(Spawn(fun() ->
                        true = register(Name, self()),
                        Owner ! {self(), ready},
                        Body()
                    end)).

stacks(Terms) ->
    [{zoo_catch, fun() -> [catch [Terms | catch zoo:rest()]] end},
     {zoo_caught, fun() -> caught(100, Terms) end},
     {zoo_guarded, fun() -> guarded(Terms) end},
     {zoo_match_context, fun() -> zoo_binaries:parsed(
                                      iolist_to_binary([<<3:16, "abc">>, <<100:16, 0:800>>]),
                                      fun zoo:rest/0) end},
     {zoo_fun_frames, fun() -> lists:map(fun(X) -> [zoo:rest() | X] end, [Terms, Terms]) end},
     {zoo_comprehension, fun() -> [{X, Y, zoo:rest()} || X <- [Terms, b], Y <- [1, 2]] end},
     {zoo_sort, fun() -> lists:sort(fun(A, B) -> zoo:rest(), A =< B end, [3, 1, Terms, 2]) end},
     {zoo_apply, fun() -> [apply(zoo_terms:id(zoo), zoo_terms:id(frames), [[Terms]])] end},
     {zoo_own_error_handler, fun() -> process_flag(error_handler, zoo_states),
                                      [zoo:rest()] end},
     {zoo_sensitive, fun() -> put(secret, Terms), process_flag(sensitive, true),
                              zoo:frames([Terms]) end},
     {zoo_labelled, fun() -> put('$process_label', {label, Terms}), put('$ancestors', [zoo]),
                             zoo:rest() end},
     {zoo_exit_reasons, fun exit_reasons/0},
     {zoo_garbage, fun() -> _ = [lists:seq(1, N) || N <- lists:seq(1, 100)],
                            zoo:frames([Terms]) end},
     {zoo_old_heap, fun() -> Old = [lists:seq(1, 500), Terms],
                             erlang:garbage_collect(), erlang:garbage_collect(),
                             zoo:frames([{new, Old}, Old]) end}].

waits() ->
    Forever = 1000000000,
    [{zoo_after, fun() -> receive {zoo, finish} -> ok after Forever -> [zoo:rest()] end end},
     {zoo_sleep, fun() -> timer:sleep(Forever) end},
     {zoo_infinity, fun() -> timer:sleep(infinity) end},
     {zoo_selective, fun() -> self() ! not_this, self() ! {nor, "this"},
                              receive {zoo, finish} -> ok end end},
     {zoo_marked, fun() -> self() ! before_the_mark, Ref = make_ref(),
                           receive {Ref, Answer} -> Answer end end},
     {zoo_marked_monitor, fun() -> Ref = monitor(process, init),
                                   receive {'DOWN', Ref, _, _, _} -> ok end end},
     {zoo_accept, fun() -> {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
                           {ok, _} = gen_tcp:accept(Listener) end},
     {zoo_datagrams, fun() -> {ok, Socket} = gen_udp:open(0, [{ip, {127, 0, 0, 1}},
                                                              {active, false}]),
                              gen_udp:recv(Socket, 0) end},
     %% Of a device that does not answer: OTP 29's own fails when it is read under -noinput.
     {zoo_input, fun() -> io:get_line(spawn(fun zoo:rest/0), "zoo> ") end}].

options() ->
    Rest = fun() -> zoo:frames([lists:seq(1, 30)]) end,
    [{list_to_atom("zoo_" ++ Name), Rest, Options}
     || {Name, Options} <- [{"low", [{priority, low}]}, {"high", [{priority, high}]},
                            {"max", [{priority, max}]}, {"min_heap", [{min_heap_size, 10000}]},
                            {"min_bin_vheap", [{min_bin_vheap_size, 100000}]},
                            {"fullsweep", [{fullsweep_after, 3}]},
                            {"max_heap", [{max_heap_size, #{size => 1000000, kill => false,
                                                            error_logger => false}}]}]].

%% ---- stacks ----------------------------------------------------------------------------------

hibernate(Name, Terms, Others) ->
    put(Name, [Terms | Others]),
    erlang:hibernate(?MODULE, woken, [Terms, Others, {Terms, Others}]).

woken(_, _, _) -> zoo:rest().

caught(0, Terms) ->
    [zoo:rest() | Terms];
caught(N, Terms) when N rem 2 =:= 0 ->
    try [caught(N - 1, Terms) | N] catch error:Reason -> {N, Reason} end;
caught(N, Terms) ->
    [catch caught(N - 1, Terms)].

guarded(Terms) ->
    try
        try zoo:rest() of Result -> {Result, Terms} after nothing() end
    catch
        Class:Reason:Trace -> {Class, Reason, Trace, Terms}
    end.

nothing() -> ok.

%% How processes end, as those that are linked with or monitor them are told.
exit_reasons() ->
    process_flag(trap_exit, true),
    Ends = [fun() -> ok end, fun() -> exit({shutdown, "reason"}) end, fun() -> exit(kill) end,
            fun() -> error(badarg) end, fun() -> throw({ball, <<"thrown">>}) end,
            fun() -> 1 / zoo_terms:id(0) end, fun() -> {a, b} = zoo_terms:id([mismatch]) end,
            fun() -> (zoo_terms:id(no_such_module)):call(1, 2) end,
            fun() -> lists:map(fun(X) -> X + zoo_terms:id(a) end, [1]) end,
            fun() -> binary_to_atom(zoo_terms:id(not_a_binary)) end,
            fun() -> fun(X) when X > 0 -> X end(zoo_terms:id(-1)) end,
            fun() -> error({custom, #{map => 1}}, [some, "arguments"]) end],
    Pids = [element(1, spawn_opt(fun() -> silently(End) end, [link, monitor])) || End <- Ends],
    wait_for_messages(2 * length(Pids)),
    put(pids, Pids),
    Pid = spawn_link(fun zoo:rest/0),
    exit(Pid, kill),
    wait_for_messages(2 * length(Pids) + 1),
    zoo:rest().

%% As the process would end, but without the runtime's report of it.
silently(End) ->
    try End() catch Class:Reason:Trace -> exit({Class, Reason, Trace}) end.

wait_for_messages(Count) ->
    case process_info(self(), message_queue_len) of
        {_, Enough} when Enough >= Count -> ok;
        _ -> timer:sleep(5), wait_for_messages(Count)
    end.

%% ---- what a process does until it is suspended -------------------------------------------------

spin(N, Terms, Other) -> spin(N + 1, Terms, Other).

%% Calls that take more than one turn: suspended, a process is mostly inside one of them.
keep_busy(Call) ->
    _ = Call(),
    keep_busy(Call).
