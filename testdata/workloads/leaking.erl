%% A node under a steady load, which leaks on demand, one thing of each kind at a time: tell(<<"mailbox">>),
%% ets, dictionary, atoms, binaries, processes or as many processes as a number says. The load makes and
%% drops all of these too, but as many as it drops; its workers collect their garbage, so that what they
%% hold is bounded.
%% start_leakers/0 starts no load: the node is at rest when nothing is told.
-module(leaking).
-export([start/1, start_leakers/0, tell/1, waiting/1, leaker/1]).

-define(WORKERS, 8).
-define(EACH, 20000).

start(_) ->
    ets:new(steady_table, [named_table, public]),
    start_leakers(),
    [spawn(fun() -> worker(N, 1) end) || N <- lists:seq(1, ?WORKERS)],
    ok.

start_leakers() ->
    Leakers = [leaky_mailbox, leaky_ets, leaky_dictionary, leaky_binaries],
    [register(Name, spawn(?MODULE, leaker, [Name])) || Name <- Leakers],
    ok.

tell(<<"load">>) ->
    %% Exchanges so far, of all workers: the load goes on.
    integer_to_list(lists:sum([Count || {{exchanges, _}, Count} <- ets:tab2list(steady_table)]));
tell(<<"mailbox">>) ->
    [leaky_mailbox ! {event, N, [N, N, N]} || N <- lists:seq(1, ?EACH)],
    <<"leaked">>;
tell(<<"atoms">>) ->
    First = erlang:unique_integer([positive]) * ?EACH,
    _ = [list_to_atom("leak_" ++ integer_to_list(First + N)) || N <- lists:seq(1, ?EACH)],
    <<"leaked">>;
tell(<<"processes">>) ->
    processes(?EACH div 10);
tell(<<Digit, _/binary>> = Number) when Digit >= $0, Digit =< $9 ->
    processes(binary_to_integer(Number));
tell(Kind) ->
    Name = binary_to_existing_atom(<<"leaky_", Kind/binary>>),
    Name ! {leak, self()},
    receive {Name, done} -> <<"leaked">> end.

processes(Count) ->
    [spawn(?MODULE, waiting, [N]) || N <- lists:seq(1, Count)],
    <<"leaked">>.

waiting(N) ->
    receive {done, N} -> ok end.

leaker(leaky_mailbox) ->
    receive stop -> ok end;
leaker(leaky_ets) ->
    leak(leaky_ets, ets:new(leaky_table, [named_table]));
leaker(Name) ->
    leak(Name, []).

leak(Name, State) ->
    receive
        {leak, From} ->
            Next = leaked(Name, State),
            erlang:garbage_collect(),
            From ! {Name, done},
            leak(Name, Next)
    end.

leaked(leaky_ets, Table) ->
    First = ets:info(Table, size),
    ets:insert(Table, [{First + N, {row, N, <<N:256>>}} || N <- lists:seq(1, ?EACH)]),
    Table;
leaked(leaky_dictionary, State) ->
    First = length(get()),
    [put({session, First + N}, {session, N, #{user => N}}) || N <- lists:seq(1, ?EACH)],
    State;
leaked(leaky_binaries, Held) ->
    [binary:copy(<<N:64>>, 10000) || N <- lists:seq(1, 100)] ++ Held.

%% Messages there and back, rows, binaries and processes that come and go.
worker(N, Exchanges) ->
    Self = self(),
    Binary = binary:copy(<<N:64>>, 100),
    Child = spawn(fun() -> receive {Self, Sent} -> Self ! {self(), byte_size(Sent)} end end),
    Child ! {Self, Binary},
    receive {Child, Size} -> Size = byte_size(Binary) end,
    ets:insert(steady_table, {{exchanges, N}, Exchanges}),
    ets:insert(steady_table, {{last, N, Exchanges rem 10}, Exchanges}),
    put(last, Exchanges),
    erlang:garbage_collect(),
    timer:sleep(2),
    worker(N, Exchanges + 1).
