%% A node under full load whose workers keep an invariant inside their heaps: in every term
%% {invariant, Counter, Sum, List, Binary} the list counts down from the counter, the sum is the
%% list's, and the binary repeats the counter. They work for each other all the time, allocate,
%% collect garbage, and die. A copy in which such a term contradicts itself was torn.
-module(busy).
-export([start/1, worker/2, short_lived/1]).

-define(BASE, 1000000).

start(Scale) ->
    Count = max(8, round(400 * Scale)),
    Workers = list_to_tuple([spawn(?MODULE, worker, [N, self()]) || N <- lists:seq(1, Count)]),
    [Worker ! {workers, Workers} || Worker <- tuple_to_list(Workers)],
    [receive {Worker, ready} -> ok end || Worker <- tuple_to_list(Workers)],
    %% As many tasks as keep all schedulers busy; each is handed on for ever.
    Tasks = 16 * erlang:system_info(schedulers),
    [element(1 + N rem Count, Workers) ! {task, N, [N, {task, N}]} || N <- lists:seq(1, Tasks)],
    ok.

worker(Number, Owner) ->
    rand:seed(exsss, {Number, 2, 3}),
    register(list_to_atom("busy_" ++ integer_to_list(Number)), self()),
    receive {workers, Workers} -> ok end,
    Owner ! {self(), ready},
    State = invariant(?BASE + Number),
    put(invariant, State),
    serve(Workers, State, size_of(Number)).

%% {Longest list, repeats in the binary}. Most are small; every fiftieth has some megabytes of
%% lists, every twentieth a binary that is too large to be copied together with others.
size_of(Number) when Number rem 50 =:= 0 -> {20000, 20};
size_of(Number) when Number rem 20 =:= 7 -> {60, 20000};
size_of(_) -> {60, 20}.

serve(Workers, State, Size) ->
    receive
        {task, N, Data} ->
            Next = work(State, Size),
            put(invariant, Next),
            To = element(rand:uniform(tuple_size(Workers)), Workers),
            To ! {task, N, [Next | lists:sublist(Data, 3)]},
            rand:uniform(20) =:= 1 andalso erlang:garbage_collect(),
            rand:uniform(50) =:= 1 andalso spawn(?MODULE, short_lived, [Next]),
            serve(Workers, Next, Size)
    end.

work({invariant, Counter, _, _, _}, {Longest, Repeats}) ->
    invariant(Counter + 1, rand:uniform(Longest), Repeats).

short_lived(State) ->
    put(invariant, State),
    receive after rand:uniform(20) -> put(invariant, work(State, {100, 20})) end.

invariant(Counter) -> invariant(Counter, 10, 20).

invariant(Counter, Length, Repeats) ->
    List = lists:seq(Counter, Counter - Length, -1),
    {invariant, Counter, lists:sum(List), List, binary:copy(<<255, Counter:32>>, Repeats)}.
