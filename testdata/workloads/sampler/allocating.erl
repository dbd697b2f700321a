%% A node whose one busy process allocates in a known way: in rounds, some functions build known
%% numbers of words on its heap, one takes time and builds none. Or, after "callers": in rounds in
%% which one function builds words for two callers. Or, after "calls": one function is called by two
%% others, three times as often by one as by the other, and counted. Or, after "messages": it and a
%% process that waits for its messages, of 2,000 words, build as many words as each other. Or, after
%% "recursion": in rounds, in which a function whose calls are nested builds six times as many words as one that loops.
%% Or, after "kinds": in rounds of functions that build lists, tuples, funs, binaries and maps each.
-module(allocating).
-export([start/1, tell/1, worker/0, receiver/0]).

-define(ROUNDS, 1).
-define(FOR_CALLERS, 2).
-define(CALLS, 3).
-define(COUNTERS, 3).
-define(STEP(X), (((X) * 31 + 7) band 16#ffffff)).
-define(STEPS4(X), ?STEP(?STEP(?STEP(?STEP(X))))).
-define(STEPS32(X), ?STEPS4(?STEPS4(?STEPS4(?STEPS4(?STEPS4(?STEPS4(?STEPS4(?STEPS4(X))))))))).
-define(WORK(X), ?STEPS32(?STEPS32(?STEPS32(?STEPS32(X))))).

start(_Scale) ->
    persistent_term:put(?MODULE, counters:new(?COUNTERS, [])),
    register(allocating_receiver, spawn(?MODULE, receiver, [])),
    register(allocating_worker, spawn(?MODULE, worker, [])),
    ok.

functions() -> [listing, pairing, few, spinning].

%% What calls one of them, and is called once a round: each traced call takes long.
callers() -> [list, pairs, some, spin].

%% "rounds": how many rounds the worker has done. "words": the words that each function has
%% allocated by the VM's own tracing (call_memory, OTP 27 on) in a second of these rounds:
%% "listing 12000 ...".
%% "functions", "callers", "calls", "messages", "recursion" and "kinds": which rounds it does from now on. "counted":
%% how many calls of built/2 there were. "known": the words that each function of "kinds" builds in a round, by
%% the heap of a process that is not collected meanwhile.
tell(<<"rounds">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), ?ROUNDS));
tell(<<"functions">>) -> rounds(0);
tell(<<"callers">>) -> rounds(1);
tell(<<"calls">>) -> rounds(2);
tell(<<"messages">>) -> rounds(3);
tell(<<"recursion">>) -> rounds(4);
tell(<<"kinds">>) -> rounds(5);
tell(<<"known">>) ->
    iolist_to_binary(lists:join(" ", [io_lib:format("~s ~b", [Function, words_of(Fun)]) || {Function, Fun} <- kinds()]));
tell(<<"counted">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), ?CALLS));
tell(<<"words">>) ->
    Worker = whereis(allocating_worker),
    Patterns = [{?MODULE, Caller, 1} || Caller <- callers()],
    [1 = erlang:trace_pattern(Pattern, true, [call_memory]) || Pattern <- Patterns],
    1 = erlang:trace(Worker, true, [call]),
    timer:sleep(1000),
    Words = [begin
                 {call_memory, Found} = erlang:trace_info(Pattern, call_memory),
                 lists:sum([Of || {Pid, _, Of} <- Found, Pid =:= Worker])
             end || Pattern <- Patterns],
    1 = erlang:trace(Worker, false, [call]),
    [1 = erlang:trace_pattern(Pattern, false, [call_memory]) || Pattern <- Patterns],
    iolist_to_binary(lists:join(" ", [io_lib:format("~s ~b", [Function, Of])
                                      || {Function, Of} <- lists:zip(functions(), Words)])).

rounds(ForCallers) ->
    Counters = persistent_term:get(?MODULE),
    counters:put(Counters, ?FOR_CALLERS, ForCallers),
    Done = counters:get(Counters, ?ROUNDS),
    %% The round under way may be the last one of the other kind.
    wait_for_round(Counters, Done + 2),
    <<"done">>.

wait_for_round(Counters, Number) ->
    case counters:get(Counters, ?ROUNDS) of
        Done when Done >= Number -> ok;
        _ -> timer:sleep(1), wait_for_round(Counters, Number)
    end.

worker() ->
    put(message, lists:seq(1, 1000)),
    rounds_of_work().

rounds_of_work() ->
    Counters = persistent_term:get(?MODULE),
    _ = case counters:get(Counters, ?FOR_CALLERS) of
            0 -> {list(30000), pairs(4000), some(1000), spin(200000)};
            1 -> {much(30000), spin(100000), little(10000), spin(100000)};
            2 -> {often(), often(), often(), seldom(), briefly()};
            3 -> send(get(message));
            4 -> {nested(60000), list(10000)};
            5 -> [Fun() || {_, Fun} <- kinds()]
        end,
    counters:add(Counters, ?ROUNDS, 1),
    rounds_of_work().

send(Message) ->
    Size = length(sending(500, [])),
    allocating_receiver ! {self(), Message},
    receive Received when is_integer(Received) -> Size + Received end.

receiver() ->
    receive {From, Message} -> From ! length(receiving(500, [])) + hd(Message) end,
    receiver().

%% 2 words each, and much time for them.
sending(0, List) -> List;
sending(Times, List) -> sending(Times - 1, [?WORK(Times) | List]).

receiving(0, List) -> List;
receiving(Times, List) -> receiving(Times - 1, [?WORK(Times) | List]).

%% Two callers of one function, each on the stack meanwhile.
much(Times) -> {much, listing(Times, [])}.
little(Times) -> {little, listing(Times, [])}.

%% Two callers of one function: 50 words for one, 99 with what it calls for the other.
often() -> called({few, built(few, spinning(60000, 0))}).
seldom() -> called({many, built(many, spinning(60000, 0))}).

called(Made) ->
    counters:add(persistent_term:get(?MODULE), ?CALLS, 1),
    element(1, Made).

built(few, X) -> [X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X];
built(many, X) -> {twice(X), twice(X)}.

%% A process with a small heap, for which BIFs collect it twice.
briefly() ->
    {_, Monitor} = spawn_monitor(fun() -> exit(tuple_size(by_bifs(<<0:40000>>))) end),
    receive {'DOWN', Monitor, process, _, Size} -> Size end.

by_bifs(Binary) -> {binary_to_list(Binary), binary_to_list(Binary)}.

%% 48 words; with the pair of them 99.
twice(X) -> [X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X].

nested(Times) -> {nested, length(nesting(Times))}.

%% 2 words each as a call returns.
nesting(0) -> [];
nesting(Times) -> [Times | nesting(Times - 1)].

kinds() ->
    [{nesting, fun() -> nested(20000) end}, {listing, fun() -> list(20000) end},
     {tupling, fun() -> {tuples, tupling(10000, [])} end}, {closing, fun() -> {funs, closing(5000, [])} end},
     {packing, fun() -> {binaries, packing(6000, [])} end}, {mapping, fun() -> {maps, mapping(8000, [])} end}].

words_of(Fun) ->
    used_after(Fun) - used_after(fun() -> nothing end).

%% Another process has to ask: a process that asks for itself has all that is free reserved.
used_after(Fun) ->
    Owner = self(),
    Pid = spawn_opt(fun() -> Fun(), Owner ! {self(), done}, receive stop -> ok end end,
                    [{min_heap_size, 1000000}]),
    receive {Pid, done} -> ok end,
    {garbage_collection_info, Info} = process_info(Pid, garbage_collection_info),
    Pid ! stop,
    proplists:get_value(heap_size, Info).

tupling(0, List) -> length(List);
tupling(Times, List) -> tupling(Times - 1, [{Times, List, []} | List]).

closing(0, List) -> length(List);
closing(Times, List) -> closing(Times - 1, [fun() -> Times end | List]).

packing(0, List) -> length(List);
packing(Times, List) -> packing(Times - 1, [<<Times:128>> | List]).

mapping(0, List) -> length(List);
mapping(Times, List) -> mapping(Times - 1, [#{key => Times, value => List} | List]).

list(Times) -> {listed, listing(Times, [])}.
pairs(Times) -> {paired, pairing(Times, [])}.
some(Times) -> {few, few(Times, [])}.
spin(Times) -> {spun, spinning(Times, 0)}.

%% 2 words each.
listing(0, List) -> length(List);
listing(Times, List) -> listing(Times - 1, [Times | List]).

%% 5 words each.
pairing(0, List) -> length(List);
pairing(Times, List) -> pairing(Times - 1, [{Times, List} | List]).

%% 2 words each, and little of all.
few(0, List) -> length(List);
few(Times, List) -> few(Times - 1, [Times | List]).

spinning(0, Sum) -> Sum;
spinning(Times, Sum) -> spinning(Times - 1, (Sum + Times) band 16#ffff).
