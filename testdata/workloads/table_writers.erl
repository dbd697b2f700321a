%% ETS tables that are written all the time, of all kinds of locks. Each row carries a proof of
%% itself: {Key, Binary, N, N, N...}, where the binary repeats N. A row in which these differ was
%% torn.
-module(table_writers).
-export([start/1, own/1, write/2]).

-define(KEYS, 64).
-define(MOST_WORDS, 200).

start(_Scale) ->
    {Owner, Monitor} = spawn_monitor(?MODULE, own, [self()]),
    receive
        {Owner, ready} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Owner, Reason} -> error(Reason)
    end.

own(To) ->
    true = register(table_writers, self()),
    Public = [ets:new(Name, [named_table, public | Options]) || {Name, Options} <- kinds()],
    [fill(Table) || Table <- Public],
    %% Two for each scheduler, which sleep a moment now and then: a lock that is always held shows
    %% nothing.
    Writers = 2 * erlang:system_info(schedulers),
    [spawn(?MODULE, write, [Public, N]) || N <- lists:seq(1, Writers)],
    %% These two are written by their owner alone.
    spawn(fun() ->
        Own = [ets:new(writers_private, [named_table, private]),
               ets:new(writers_protected, [named_table, protected, ordered_set])],
        [fill(Table) || Table <- Own],
        Parent = whereis(table_writers),
        To ! {Parent, ready},
        true = is_pid(Parent),
        write(Own, 99)
    end),
    receive after infinity -> ok end.

kinds() ->
    [{writers_set, [set]},
     {writers_write, [set, {write_concurrency, true}]},
     {writers_auto, [set, {write_concurrency, workload:auto()}]},
     {writers_tree, [ordered_set]},
     {writers_ca, [ordered_set, {write_concurrency, true}]},
     {writers_read, [set, {read_concurrency, true}]},
     {writers_lists, [set, {write_concurrency, true}]}].

fill(Table) ->
    true = ets:insert(Table, [row(Key, 1, ?MOST_WORDS) || Key <- lists:seq(1, ?KEYS)]).

write(Tables, Seed) ->
    rand:seed(exsss, {Seed, 2, 3}),
    write_rounds(list_to_tuple(Tables), Seed * 1000000).

write_rounds(Tables, N) ->
    [write_one(element(rand:uniform(tuple_size(Tables)), Tables), N + I)
     || I <- lists:seq(1, 200)],
    receive after rand:uniform(3) - 1 -> ok end,
    write_rounds(Tables, N + 200).

%% Mostly of the same size, which is written in place.
write_one(writers_lists, N) ->
    true = ets:insert(writers_lists, [row(rand:uniform(?KEYS), N, ?MOST_WORDS)
                                      || _ <- lists:seq(1, 5)]);
write_one(Table, N) ->
    Key = rand:uniform(?KEYS),
    case rand:uniform(20) of
        1 -> true = ets:delete(Table, Key), true = ets:insert(Table, row(Key, N, ?MOST_WORDS));
        2 -> true = ets:insert(Table, row(Key, N, rand:uniform(?MOST_WORDS)));
        _ -> true = ets:insert(Table, row(Key, N, ?MOST_WORDS))
    end.

row(Key, N, Words) ->
    list_to_tuple([Key, binary:copy(<<N:64>>, 10) | lists:duplicate(Words, N)]).
