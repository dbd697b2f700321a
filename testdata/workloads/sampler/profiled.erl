%% A node whose one busy process spends its time in a known way: rounds of the same work, a part of
%% it in each of the functions of parts/0. Each part is in functions that no other part calls.
-module(profiled).
-export([start/1, tell/1, worker/0, worker_parts/0]).

%% Room for many rounds between collections: on a busy machine a collection has often ended before
%% its caller can be read.
-define(HEAP, {min_heap_size, 4000000}).

start(_Scale) ->
    persistent_term:put(?MODULE, counters:new(1 + length(worker_parts()), [])),
    Worker = spawn_opt(?MODULE, worker, [], [?HEAP]),
    register(profiled_worker, Worker),
    ok.

worker_parts() -> [count, unpack, lookup, sort, build, send].

%% "rounds": how many rounds the worker has done.
tell(<<"rounds">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), 1));

%% "spent": the nanoseconds that each part has taken so far, by the worker's own clock.
tell(<<"spent">>) ->
    Counters = persistent_term:get(?MODULE),
    Spent = [counters:get(Counters, 1 + At) || At <- lists:seq(1, length(worker_parts()))],
    named(Spent, "~b").

named(Numbers, Format) ->
    iolist_to_binary(lists:join(" ", [io_lib:format("~s " ++ Format, [Part, Number])
                                      || {Part, Number} <- lists:zip(worker_parts(), Numbers)])).

worker() -> loop(data()).

data() ->
    Table = ets:new(profiled, [set]),
    ets:insert(Table, {key, lists:seq(1, 300)}),
    Tuple = list_to_tuple(lists:seq(1, 300)),
    Numbers = [(N * 7919) rem 10007 || N <- lists:seq(1, 400)],
    {Table, Tuple, Numbers, lists:seq(1, 40)}.

loop(Data) ->
    _ = one_round(Data),
    counters:add(persistent_term:get(?MODULE), 1, 1),
    loop(Data).

%% About a millisecond in all.
one_round({Table, Tuple, Numbers, Few}) ->
    Start = clock(),
    Counted = count(150000),
    At1 = spent(1, Start),
    Unpacked = unpack({200, Tuple}),
    At2 = spent(2, At1),
    Found = lookup({150, Table}),
    At3 = spent(3, At2),
    Sorted = sort({8, Numbers}),
    At4 = spent(4, At3),
    Built = build(4),
    At5 = spent(5, At4),
    Sent = send({2500, Few}),
    _ = spent(6, At5),
    {Counted, Unpacked, Found, Sorted, Built, Sent}.

clock() -> erlang:monotonic_time(nanosecond).

spent(Part, Since) ->
    Now = clock(),
    counters:add(persistent_term:get(?MODULE), 1 + Part, Now - Since),
    Now.

%% Nothing but Erlang code.
count(Times) -> {counted, counting(Times, 0)}.

counting(0, Sum) -> Sum;
counting(Times, Sum) -> counting(Times - 1, (Sum + Times) band 16#ffff).

%% Almost only native code, which takes no reductions: the schedulers' own work between time slices
%% is in the worker's clock, but in no sample of it.
unpack({Times, Tuple}) -> {unpacked, unpacking(Times, Tuple, 0)}.

unpacking(0, _, Sum) -> Sum;
unpacking(Times, Tuple, Sum) -> unpacking(Times - 1, Tuple, Sum + hd(tuple_to_list(Tuple))).

%% Rows are copied out of the table.
lookup({Times, Table}) -> {found, looking_up(Times, Table, 0)}.

looking_up(0, _, Found) -> Found;
looking_up(Times, Table, Found) ->
    [{key, [_ | _]}] = ets:lookup(Table, key),
    looking_up(Times - 1, Table, Found + 1).

%% Functions of lists, and collections.
sort({Times, Numbers}) -> {sorted, sorting(Times, Numbers, 0)}.

sorting(0, _, Sum) -> Sum;
sorting(Times, Numbers, Sum) -> sorting(Times - 1, Numbers, Sum + hd(lists:sort(Numbers))).

%% Heaps that grow, and collections.
build(Times) -> {built, building(Times, 0)}.

building(0, Sum) -> Sum;
building(Times, Sum) -> building(Times - 1, Sum + tuple_size(list_to_tuple(rows(1500)))).

rows(0) -> [];
rows(N) -> [{N, [N]} | rows(N - 1)].

%% Messages are copied.
send({Times, Term}) -> {sent, sending(Times, Term)}.

sending(0, _) -> done;
sending(Times, Term) ->
    self() ! {message, Term},
    receive {message, _} -> sending(Times - 1, Term) end.
