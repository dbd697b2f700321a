%% A node whose one busy process allocates in a known way: in rounds, some functions build known
%% numbers of words on its heap, one takes time and builds none.
-module(allocating).
-export([start/1, tell/1, worker/0]).

start(_Scale) ->
    persistent_term:put(?MODULE, counters:new(1, [])),
    register(allocating_worker, spawn(?MODULE, worker, [])),
    ok.

functions() -> [listing, pairing, few, spinning].

%% What calls one of them, and is called once a round: each traced call takes long.
callers() -> [list, pairs, some, spin].

%% "rounds": how many rounds the worker has done. "words": the words that each function has
%% allocated by the VM's own tracing (call_memory, OTP 27 on) in a second of these rounds:
%% "listing 12000 ...".
tell(<<"rounds">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), 1));
tell(<<"words">>) ->
    Worker = whereis(allocating_worker),
    Patterns = [{?MODULE, Caller, 1} || Caller <- callers()],
    [1 = erlang:trace_pattern(Pattern, true, [local, call_memory]) || Pattern <- Patterns],
    1 = erlang:trace(Worker, true, [call]),
    timer:sleep(1000),
    Words = [begin
                 {call_memory, Found} = erlang:trace_info(Pattern, call_memory),
                 lists:sum([Of || {Pid, _, Of} <- Found, Pid =:= Worker])
             end || Pattern <- Patterns],
    1 = erlang:trace(Worker, false, [call]),
    [1 = erlang:trace_pattern(Pattern, false, [local, call_memory]) || Pattern <- Patterns],
    iolist_to_binary(lists:join(" ", [io_lib:format("~s ~b", [Function, Of])
                                      || {Function, Of} <- lists:zip(functions(), Words)])).

worker() ->
    _ = {list(30000), pairs(4000), some(1000), spin(200000)},
    counters:add(persistent_term:get(?MODULE), 1, 1),
    worker().

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
