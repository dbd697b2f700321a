%% A node whose one busy process spends its time in a known way: rounds of the same work, a part of
%% it in each of the functions of parts/0. Each part is in functions that no other part calls.
-module(profiled).
-export([start/1, tell/1, worker/0, worker_parts/0]).

-define(ROUNDS, 60).
%% Room for many rounds between collections: on a busy machine a collection has often ended before
%% its caller can be read.
-define(HEAP, {min_heap_size, 4000000}).

start(_Scale) ->
    persistent_term:put(?MODULE, counters:new(1, [])),
    Worker = spawn_opt(?MODULE, worker, [], [?HEAP]),
    register(profiled_worker, Worker),
    ok.

worker_parts() -> [count, encode, lookup, sort, build, send].

%% "rounds": how many rounds the worker has done.
tell(<<"rounds">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), 1));

%% "tprof": as "shares" by OTP's own profiler (OTP 27 on), in a process of its own.
tell(<<"tprof">>) ->
    Patterns = [{?MODULE, Part, 1} || Part <- worker_parts()],
    {_, {call_time, Found}} = apply(tprof, profile,
        [fun() ->
             {_, Ref} = spawn_opt(fun() -> rounds(200, data()) end, [monitor, ?HEAP]),
             receive {'DOWN', Ref, _, _, Reason} -> Reason end
         end,
         #{type => call_time, report => return, pattern => Patterns}]),
    Times = [lists:sum([Time || {?MODULE, {Function, 1}, Calls} <- Found, Function =:= Part,
                                {_, _, Time} <- Calls]) || Part <- worker_parts()],
    shares(Times);

%% "shares": what part of a round each part takes, in percent, by the VM's own call_time tracing:
%% "count 31.4 encode ...". A round is repeated, and the least taken of each part's times: whatever
%% else runs on the machine only adds to them.
tell(<<"shares">>) ->
    profiled_worker ! {measure, self()},
    Worker = whereis(profiled_worker),
    Functions = [{?MODULE, Part, 1} || Part <- worker_parts()],
    receive {ready, Worker} -> ok end,
    [1 = erlang:trace_pattern(Function, true, [local, call_time]) || Function <- Functions],
    1 = erlang:trace(Worker, true, [call]),
    Worker ! traced,
    Least = receive {least, Found} -> Found end,
    1 = erlang:trace(Worker, false, [call]),
    [1 = erlang:trace_pattern(Function, false, [local, call_time]) || Function <- Functions],
    Worker ! go_on,
    shares(Least).

shares(Times) ->
    Sum = lists:sum(Times),
    iolist_to_binary(lists:join(" ", [io_lib:format("~s ~.2f", [Part, 100 * Time / Sum])
                                      || {Part, Time} <- lists:zip(worker_parts(), Times)])).

rounds(0, _) -> ok;
rounds(Times, Data) ->
    _ = one_round(Data),
    rounds(Times - 1, Data).

worker() -> loop(data()).

data() ->
    Table = ets:new(profiled, [set]),
    ets:insert(Table, {key, lists:seq(1, 300)}),
    Term = [{N, <<"text">>, [N]} || N <- lists:seq(1, 200)],
    Numbers = [(N * 7919) rem 10007 || N <- lists:seq(1, 400)],
    {Table, Term, Numbers, lists:seq(1, 40)}.

loop(Data) ->
    _ = one_round(Data),
    counters:add(persistent_term:get(?MODULE), 1, 1),
    receive
        {measure, From} -> measure(From, Data), loop(Data)
    after 0 -> loop(Data)
    end.

measure(From, Data) ->
    From ! {ready, self()},
    receive traced -> ok end,
    Times = [timed_round(Data) || _ <- lists:seq(1, ?ROUNDS)],
    From ! {least, [lists:min(Of) || Of <- transposed(Times)]},
    receive go_on -> ok end.

transposed([[] | _]) -> [];
transposed(Rows) -> [[hd(Row) || Row <- Rows] | transposed([tl(Row) || Row <- Rows])].

timed_round(Data) ->
    Functions = [{?MODULE, Part, 1} || Part <- worker_parts()],
    [erlang:trace_pattern(Function, restart, [local, call_time]) || Function <- Functions],
    _ = one_round(Data),
    [begin
         {call_time, [{_, 1, Seconds, Micro}]} = erlang:trace_info(Function, call_time),
         Seconds * 1000000 + Micro
     end || Function <- Functions].

%% About a millisecond and a half in all.
one_round({Table, Term, Numbers, Few}) ->
    {count(150000), encode({25, Term}), lookup({150, Table}), sort({8, Numbers}), build(4),
     send({2500, Few})}.

%% Nothing but Erlang code.
count(Times) -> {counted, counting(Times, 0)}.

counting(0, Sum) -> Sum;
counting(Times, Sum) -> counting(Times - 1, (Sum + Times) band 16#ffff).

%% Almost only native code.
encode({Times, Term}) -> {encoded, encoding(Times, Term, 0)}.

encoding(0, _, Bytes) -> Bytes;
encoding(Times, Term, Bytes) ->
    encoding(Times - 1, Term, Bytes + byte_size(term_to_binary(Term))).

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
