%% A node with ETS tables of every kind and option, filled and at rest. rows/1 writes the rows of
%% those of this workload.
-module(tables).
-export([start/1, own/2, rows/1]).

-define(ROWS, 2000).

start(Scale) ->
    Rows = max(10, round(?ROWS * Scale)),
    {Owner, Monitor} = spawn_monitor(?MODULE, own, [self(), Rows]),
    receive
        {Owner, ready} -> true = demonitor(Monitor, [flush]), ok;
        {'DOWN', Monitor, process, Owner, Reason} -> error(Reason)
    end.

own(To, Rows) ->
    true = register(tables_owner, self()),
    [fill(Name, Options, Rows) || {Name, Options} <- kinds()],
    %% Unnamed, many under one name, some deleted again.
    Unnamed = [ets:new(tables_unnamed, [public]) || _ <- lists:seq(1, 40)],
    [true = ets:delete(Table) || {N, Table} <- lists:zip(lists:seq(1, 40), Unnamed), N rem 4 =:= 0],
    %% Fixed, with rows that were deleted meanwhile: linked, but not counted.
    true = ets:safe_fixtable(tables_fixed, true),
    [true = ets:delete(tables_fixed, N) || N <- lists:seq(1, 7)],
    true = ets:safe_fixtable(tables_fixed_tree, true),
    %% Lists go in under the table's own lock.
    true = ets:insert(tables_write, [{{list, N}, N} || N <- lists:seq(1, 20)]),
    %% Owned by another process, with an heir.
    Heir = self(),
    Other = spawn(fun() ->
        Given = ets:new(tables_with_heir, [{heir, Heir, data}, protected]),
        true = ets:insert(Given, {key, value}),
        Heir ! {self(), ready},
        receive after infinity -> ok end
    end),
    receive {Other, ready} -> ok end,
    erlang:garbage_collect(),
    To ! {self(), ready},
    receive after infinity -> ok end.

kinds() ->
    [{tables_set, [set, public]},
     {tables_bag, [bag, private]},
     {tables_duplicate_bag, [duplicate_bag, protected]},
     {tables_ordered_set, [ordered_set, public]},
     {tables_key_3, [set, {keypos, 3}]},
     {tables_read, [set, public, {read_concurrency, true}]},
     {tables_write, [set, public, {write_concurrency, true}]},
     {tables_write_bag, [bag, public, {write_concurrency, true}]},
     {tables_auto, [set, public, {write_concurrency, workload:auto()}]},
     {tables_auto_read, [duplicate_bag, public, {write_concurrency, workload:auto()},
                         {read_concurrency, true}]},
     {tables_ca, [ordered_set, public, {write_concurrency, true}]},
     {tables_ca_auto, [ordered_set, public, {write_concurrency, workload:auto()}]},
     {tables_counters, [set, public, {write_concurrency, true}, {decentralized_counters, true}]},
     {tables_counters_ca, [ordered_set, public, {write_concurrency, true},
                           {decentralized_counters, true}]},
     {tables_central_ca, [ordered_set, public, {write_concurrency, true},
                          {decentralized_counters, false}]},
     {tables_compressed, [set, public, compressed]},
     {tables_compressed_tree, [ordered_set, protected, compressed]},
     {tables_compressed_bag, [bag, public, compressed, {write_concurrency, true}]},
     {tables_fixed, [set, public]},
     {tables_fixed_tree, [ordered_set, public]},
     {tables_empty, []},
     {'tables of an odd name\n', [set]}].

fill(Name, Options, Rows) ->
    Table = ets:new(Name, [named_table | Options]),
    Few = lists:member(Name, [tables_empty]),
    %% OTP 27 and 29 cannot read fun M:F/A of a compressed row again.
    Row = case lists:member(compressed, Options) of
              true -> fun row/1;
              false -> fun(N) -> erlang:append_element(row(N), fun erlang:send/2) end
          end,
    [true = ets:insert(Table, Row(N)) || not Few, N <- lists:seq(1, Rows)],
    [true = ets:insert(Table, {N, again, N}) || not Few, N <- lists:seq(1, Rows, 10)],
    Table.

%% Terms of all sizes: in the row, in a binary beside it, and literals, which are copied.
row(N) ->
    {N, binary:copy(<<N:32>>, 1 + N rem 40), [N, a, {b, N}], N * 1.5, <<"small">>, #{k => N},
     N bsl 70, self(), "a literal", {}}.

%% A line for each row, as the VM prints it, behind the table's reference and a tab. A private
%% table's rows cannot be asked for.
rows(File) ->
    Own = [Table || Table <- ets:all(), is_own(ets:info(Table))],
    Lines = [[Id, $\t, texts:display(Row), $\n]
             || Table <- Own, Id <- [ref_to_list(ets:info(Table, id))], Row <- ets:tab2list(Table)],
    ok = file:write_file(File, Lines),
    length(Lines).

is_own(undefined) ->
    false;
is_own(Info) ->
    lists:prefix("tables", atom_to_list(proplists:get_value(name, Info)))
        andalso proplists:get_value(protection, Info) =/= private.
