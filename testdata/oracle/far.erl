%% Two nodes for undecoded messages: one holds a process that never looks into its queue, the other
%% sends it terms of every kind, and stays so that its pids and references mean something. While that
%% one is stopped, the first can have processes that are suspended since the connection is busy.
-module(far).
-compile(nowarn_deprecated_catch).
-export([silent/0, send/1, unusual/1, start/1]).

-define(LARGE, 200000).
-define(ELSEWHERE, "elsewhere@localhost").

%% Registers a process that never reads its messages: they stay undecoded.
silent() ->
    Pid = spawn(fun() -> receive after infinity -> ok end end),
    true = register(silent, Pid),
    Pid.

%% For `-run far send NODE FILE`: sends everything to NODE, then writes FILE.
send([Node, File]) ->
    To = {silent, list_to_atom(Node)},
    Messages = messages(rpc:call(element(2, To), erlang, whereis, [silent])),
    true = register(far_sender, self()),
    ok = rpc:call(element(2, To), ?MODULE, unusual, [self()]),
    monitor(process, {unusual, element(2, To)}),
    monitor(process, rpc:call(element(2, To), erlang, whereis, [unusual])),
    [To ! Message || Message <- Messages],
    %% What is sent on the same connection afterwards arrives afterwards.
    pong = net_adm:ping(element(2, To)),
    %% As long as both sides make their names one, their name servers monitor each other.
    ok = global:sync(),
    ok = rpc:call(element(2, To), global, sync, []),
    ok = file:write_file(File, integer_to_list(length(Messages))),
    receive after infinity -> ok end.

%% As many processes on each connection that send without end, and one with a pid of a node that there
%% never was.
start(Scale) ->
    Elsewhere = binary_to_term(<<131, 88, 119, (length(?ELSEWHERE)), ?ELSEWHERE, 5:32, 0:32, 7:32>>),
    spawn(fun() -> receive never -> Elsewhere end end),
    [spawn(fun() -> flood({nobody, Node}) end)
     || Node <- nodes(connected), _ <- lists:seq(1, round(Scale))],
    ok.

flood(To) ->
    To ! binary:copy(<<"x">>, ?LARGE),
    flood(To).

%% Registers a process in which the items of process_info have values other than the defaults.
unusual(Remote) ->
    Caller = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        Caller ! {self(), become_unusual(Remote)},
        rest(binary:copy(<<"y">>, 300))
    end),
    receive
        {Pid, Done} -> true = demonitor(Monitor, [flush]), Done;
        {'DOWN', Monitor, process, Pid, Reason} -> {failed, Reason}
    end.

become_unusual(Remote) ->
    true = register(unusual, self()),
    process_flag(trap_exit, true),
    process_flag(priority, high),
    process_flag(min_heap_size, 5000),
    process_flag(min_bin_vheap_size, 100000),
    process_flag(max_heap_size, #{size => 50000000, kill => false, error_logger => false}),
    process_flag(message_queue_data, off_heap),
    process_flag(fullsweep_after, 7),
    put('$process_label', {unusual, "label"}),
    put('$initial_call', {somebody, init, 1}),
    put(binaries, [binary:copy(<<N>>, 100 + N) || N <- lists:seq(1, 20)]),
    [put({key, N}, lists:seq(1, N)) || N <- lists:seq(1, 100)],
    erlang:garbage_collect(),
    Suspended = spawn_link(fun() -> receive stop -> ok end end),
    [erlang:suspend_process(Suspended) || _ <- [1, 2, 3]],
    link(Remote),
    monitor(process, Remote),
    monitor(process, {far_sender, node(Remote)}),
    monitor(process, silent),
    monitor(time_offset, clock_service),
    alias(),
    seq_trace:set_token(label, 17),
    self() ! {message, binary:copy(<<"z">>, 500)},
    self() ! plain,
    %% No code can be loaded from here on.
    process_flag(error_handler, far_handler),
    ok.

rest(Binary) ->
    catch receive after infinity -> ok end,
    Binary.

messages(Receiver) ->
    Port = hd(erlang:ports()),
    Local = fun(X) -> X + 1 end,
    Environment = {Receiver, "environment"},
    Closure = fun() -> Environment end,
    [{'$gen_cast', {add, N}} || N <- lists:seq(1, 50)] ++
    [{'$gen_call', {self(), make_ref()}, {get, N}} || N <- lists:seq(1, 10)] ++
    [ping, 'Quoted atom', 'é', '漢', 1, -1, 1 bsl 59, -(1 bsl 59), 1 bsl 64, -(1 bsl 5000) + 7,
     1.5, -0.0, 1.0e300, [], {}, #{}, "", "text \"quoted\"\n", [1, 2, 3], [$a, $b | c],
     [[], [[]], {[{}]}], lists:seq(1, 300), lists:duplicate(70000, $x), lists:seq(1, 100000),
     [255, 254, 160], [200, 10, 9], [128], [a | "bc"],
     <<>>, <<"text">>, <<"a \"quote\"">>, <<1, 2, 3>>, <<5:3>>, <<"abc", 1:1>>,
     binary:copy(<<"0123456789abcdef">>, 4096 * 20), binary:copy(<<0, 1, 255>>, 100000),
     {big, binary:copy(<<"x">>, 3000000), tail}, <<"é"/utf8>>,
     self(), Receiver, group_leader(), Port, make_ref(), alias(), node(), erlang:node(Receiver),
     fun lists:map/2, Local, Closure, {fun erlang:node/0, Closure},
     #{a => 1, "b" => 2, <<"c">> => 3, 4 => 5, 1.0 => x, {k} => [v], [] => nil},
     #{zeta => 1, alpha => 2, 'Mid' => #{nested => #{deep => "er"}}},
     #{'__struct__' => 'Elixir.Job', id => 1}, maps:from_list([{N, N * N} || N <- lists:seq(1, 32)]),
     {notify, {log, "line"}}, {'EXIT', self(), {shutdown, [{m, f, 2, [{line, 5}]}]}},
     list_to_tuple(lists:seq(1, 300)), {a, b, c, d, e, f, g, h, i, j},
     lists:foldl(fun(_, Term) -> {[Term]} end, end_, lists:seq(1, 20000)),
     [list_to_atom("new_" ++ integer_to_list(N)) || N <- lists:seq(1, 400)],
     {many_maps, maps:from_list([{N, -N} || N <- lists:seq(1, 40)])}].
