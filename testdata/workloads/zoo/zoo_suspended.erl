%% Suspended processes: they rest wherever they were, even in the middle of a call of the runtime's.
-module(zoo_suspended).
-export([start/0, suspend_all/3, busy/1]).

start() ->
    Owner = self(),
    Terms = {zoo_terms:id(held), "by a", <<"suspended one">>},
    Idle = spawned(zoo_suspended_idle, fun() -> put(terms, Terms), zoo:frames([Terms]) end),
    OffHeap = spawned(zoo_suspended_off_heap, fun() -> process_flag(message_queue_data, off_heap),
                                                       zoo:rest() end),
    Far = spawned(zoo_suspended_far, fun zoo:rest/0),
    Spinning = spawned(zoo_suspended_spinning, fun() -> zoo_states:spin(0, Terms, [Terms]) end),
    Busy = [spawned(Name, fun() -> busy(Call) end) || {Name, Call} <- calls()],
    Suspender = spawn(?MODULE, suspend_all, [Owner, [Idle, OffHeap, Far, Spinning, Idle], Busy]),
    true = register(zoo_suspender, Suspender),
    zoo:await(Suspender),
    %% They cannot take these out of the outer queue.
    [Pid ! {unfetched, N, Terms, lists:seq(1, N)} || Pid <- [Idle, OffHeap], N <- lists:seq(1, 50)],
    monitor_of_suspended(Idle),
    ok.

spawned(Name, Body) ->
    Pid = spawn(Body),
    true = register(Name, Pid),
    Pid.

%% Signals that are no messages wait in a suspended process's queue.
monitor_of_suspended(Pid) ->
    Watcher = spawn(fun() -> link(Pid), monitor(process, Pid), zoo:rest() end),
    true = register(zoo_watcher_of_suspended, Watcher).

suspend_all(Owner, Idle, Busy) ->
    [true = erlang:suspend_process(Pid) || Pid <- Idle],
    timer:sleep(20),
    [true = erlang:suspend_process(Pid) || Pid <- Busy],
    Owner ! {self(), ready},
    zoo:rest().

%% Each of these yields.
calls() ->
    Numbers = lists:seq(1, zoo_terms:id(200000)),
    Encoded = term_to_binary(Numbers),
    Large = binary:copy(<<"0123456789">>, 100000),
    Map = maps:from_list([{N, N} || N <- Numbers]),
    [{zoo_in_term_to_binary, fun() -> term_to_binary(Numbers) end},
     {zoo_in_binary_to_term, fun() -> binary_to_term(Encoded) end},
     {zoo_in_list_to_binary, fun() -> list_to_binary(lists:duplicate(20, Large)) end},
     {zoo_in_binary_match, fun() -> binary:matches(Large, <<"9012">>) end},
     {zoo_in_unicode, fun() -> unicode:characters_to_list(Large) end},
     {zoo_in_append, fun() -> Numbers ++ Numbers end},
     {zoo_in_subtract, fun() -> Numbers -- Numbers end},
     {zoo_in_reverse, fun() -> lists:reverse(Numbers) end},
     {zoo_in_maps_merge, fun() -> maps:merge(Map, Map) end},
     {zoo_in_maps_from_list, fun() -> maps:from_list([{N, N} || N <- Numbers]) end},
     {zoo_in_compare, fun() -> Numbers =:= lists:append([Numbers]) end},
     {zoo_in_phash, fun() -> erlang:phash2(Numbers) end},
     {zoo_in_regular_expression, fun() -> re:run(Large, "(0|1)*x") end},
     {zoo_in_select, fun() -> ets:select(zoo_rows(), [{{'$1', '$2'}, [], ['$2']}]) end}].

busy(Call) ->
    zoo_states:keep_busy(Call).

%% Made once in each process.
zoo_rows() ->
    case get(rows) of
        undefined ->
            Table = ets:new(rows, [public]),
            ets:insert(Table, [{N, [N]} || N <- lists:seq(1, 50000)]),
            put(rows, Table),
            Table;
        Table ->
            Table
    end.
