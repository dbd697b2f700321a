%% The largest, busiest processes: each has a state of items that prove themselves (storm_items.erl)
%% and works on it without pause, so that it runs or collects all the time.
%%
%% At every moment all items 1 to Items, each in its old or its new version, can be reached from the
%% process's stack, registers, dictionary and messages: of every kind. Of the kinds concat, reverse and
%% binary_to_term most are cells, the others are items.
%%
%% BEAMDUMP_STORM="KIND ITEMS PROCESSES" starts them with the node; tell(<<"start KIND ITEMS PROCESSES">>)
%% later. The processes are registered as storm_KIND_1 and so on. BEAMDUMP_STORM_NIF names the
%% library for the kinds dirty_nif and nif, without ".so".
-module(storm).
-export([start/1, tell/1, raise/5, woken/5, wake/1, refill/2, sink/0, hold/2, hold_here/2, keep/1]).

-import(storm_items, [item/2, element/1]).

-define(NIF_MILLISECONDS, 300).
-define(BIF_MILLISECONDS, 300).
-define(RENEWED, 1000).
-define(APPENDED, 16).
-define(HASHED, 5_000_000).
-define(LONG_BODIES, 20_000).
-define(BIGNUM_BITS, 800_000).

start(_Scale) ->
    Owner = self(),
    Keeper = spawn(fun() -> keep_table(Owner) end),
    receive {Keeper, ready} -> ok end,
    case os:getenv("BEAMDUMP_STORM_NIF") of
        false -> ok;
        Library -> ok = erlang:load_nif(Library, 0)
    end,
    case os:getenv("BEAMDUMP_STORM") of
        false -> ok;
        Storm -> _ = begin_storm(string:lexemes(Storm, " ")), ok
    end.

keep_table(Owner) ->
    storm = ets:new(storm, [named_table, public]),
    Owner ! {self(), ready},
    receive never -> ok end.

tell([<<"start">> | Storm]) ->
    begin_storm([binary_to_list(Word) || Word <- Storm]);
tell([<<"rounds">>]) ->
    %% How often all processes together have worked through their items.
    integer_to_binary(lists:sum([counters:get(Rounds, 1) || {_, _, Rounds} <- ets:tab2list(storm)]));
tell([<<"memory">>]) ->
    %% Of the largest, in bytes; it answers between two collections.
    integer_to_binary(lists:max([0 | [memory(Pid) || {_, Pid, _} <- ets:tab2list(storm)]]));
tell([<<"end">>]) ->
    [end_process(Pid) || {_, Pid, _} <- ets:tab2list(storm)],
    true = ets:delete_all_objects(storm),
    <<"ended">>.

begin_storm([Kind, Items, Processes]) ->
    Pids = [begin_process(list_to_atom(Kind), N, list_to_integer(Items))
            || N <- lists:seq(1, list_to_integer(Processes))],
    [receive {Pid, ready} -> ok end || Pid <- Pids],
    <<"started">>.

begin_process(Kind, N, Items) ->
    Name = list_to_atom("storm_" ++ atom_to_list(Kind) ++ "_" ++ integer_to_list(N)),
    Rounds = counters:new(1, []),
    Pid = spawn(?MODULE, raise, [Kind, Name, Items, Rounds, self()]),
    true = ets:insert(storm, {Name, Pid, Rounds}),
    Pid.

memory(Pid) ->
    {memory, Bytes} = process_info(Pid, memory),
    Bytes.

end_process(Pid) ->
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

%% Not of this module's own code, as far as the compiler knows: what is given to it is kept until then.
keep(_) -> ok.

round_done(Rounds) -> counters:add(Rounds, 1, 1).

ready(Owner) -> Owner ! {self(), ready}.

raise(Kind, Name, Items, Rounds, Owner) ->
    true = register(Name, self()),
    put(storm, {Kind, Items}),
    kind(Kind, Items, Rounds, Owner).

kind(waiting, Items, _, Owner) ->
    State = {map_of(Items), appended(<<>>, 0, Items)},
    ready(Owner),
    receive never -> ?MODULE:keep(State) end;
kind(map, Items, Rounds, Owner) ->
    State = map_of(Items),
    ready(Owner),
    map(State, Items, 1, 2, Rounds);
kind(list, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    list(State, Items, Items, 2, Rounds);
kind(append, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    append(State, <<>>, 0, ?APPENDED * Items, Rounds);
kind(recursion, Items, Rounds, Owner) ->
    State = down(Items, 1),
    ready(Owner),
    recursion(State, Items, 2, Rounds);
kind(mailbox, Items, Rounds, Owner) ->
    [self() ! item(I, 1) || I <- lists:seq(1, Items)],
    spawn_link(?MODULE, refill, [self(), 1]),
    ready(Owner),
    mailbox(Items, 1, Rounds);
kind(concat, Items, Rounds, Owner) ->
    {First, Rest} = lists:split(Items div 2, elements(Items)),
    ready(Owner),
    concat(First, Rest, Items div 2, Rounds);
kind(reverse, Items, Rounds, Owner) ->
    State = elements(Items),
    ready(Owner),
    reverse(State, Rounds);
kind(binary_to_term, Items, Rounds, Owner) ->
    State = elements(Items),
    External = term_to_binary(State),
    ready(Owner),
    decode(External, State, Rounds);
kind(tab2list, Items, Rounds, Owner) ->
    Table = ets:new(storm_rows, [{keypos, 2}]),
    [true = ets:insert(Table, item(I, 1)) || I <- lists:seq(1, Items)],
    State = ets:tab2list(Table),
    ready(Owner),
    rows(Table, State, Rounds);
kind(hibernate, Items, Rounds, Owner) ->
    State = map_of(Items),
    Waker = spawn_link(?MODULE, wake, [self()]),
    ready(Owner),
    sleep(State, Items, {1, 2}, Waker, Rounds);
kind(dirty_nif, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    dirty(State, Rounds);
kind(nif, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    native(State, Rounds);
kind(compare, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    compare(State, list_of(Items), Rounds);
kind(cons, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    cons(State, Rounds);
kind(registers, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    registers(State, ?LONG_BODIES, 0, Rounds);
kind(waiting_bif, Items, Rounds, Owner) ->
    State = list_of(Items),
    erts_debug:set_internal_state(available_internal_state, true),
    ready(Owner),
    waiting_bif(State, Rounds);
kind(send, Items, Rounds, Owner) ->
    State = list_of(Items),
    Sink = spawn_link(?MODULE, sink, []),
    ready(Owner),
    send(State, Sink, Rounds);
kind(bignum, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    multiply(State, 1 bsl ?BIGNUM_BITS - 1, Rounds);
kind(tuple, Items, Rounds, Owner) ->
    State = list_of(Items),
    ready(Owner),
    convert(State, Rounds);
kind(md5, Items, Rounds, Owner) ->
    State = list_of(Items),
    Bytes = binary:copy(<<"storm">>, ?HASHED div 5),
    ready(Owner),
    hash(State, Bytes, Rounds).

map_of(Items) -> maps:from_list([{I, item(I, 1)} || I <- lists:seq(1, Items)]).

list_of(Items) -> [item(I, 1) || I <- lists:seq(1, Items)].

elements(Items) -> [element(I) || I <- lists:seq(1, Items)].

%% One entry after the other is replaced.
map(Map, Items, I, V, Rounds) when I > Items ->
    round_done(Rounds),
    map(Map, Items, 1, V + 1, Rounds);
map(Map, Items, I, V, Rounds) ->
    map(Map#{I => item(I, V)}, Items, I + 1, V, Rounds).

%% Grows by the next version of all items; then the one before is cut off.
list(List, Items, 0, V, Rounds) ->
    round_done(Rounds),
    list(lists:sublist(List, Items), Items, Items, V + 1, Rounds);
list(List, Items, I, V, Rounds) ->
    list([item(I, V) | List], Items, I - 1, V, Rounds).

%% A binary of numbers and their complements, which begins anew when it is long enough.
append(State, _, N, N, Rounds) ->
    round_done(Rounds),
    append(State, <<>>, 0, N, Rounds);
append(State, Bytes, N, End, Rounds) ->
    append(State, <<Bytes/binary, N:32, (bnot N):32>>, N + 1, End, Rounds).

appended(Bytes, End, End) -> Bytes;
appended(Bytes, N, End) -> appended(<<Bytes/binary, N:32, (bnot N):32>>, N + 1, End).

%% The items are in the frames, then in the list that is made on the way up.
recursion(Old, Items, V, Rounds) ->
    New = down(Items, V),
    ?MODULE:keep(Old),
    round_done(Rounds),
    recursion(New, Items, V + 1, Rounds).

down(0, _) ->
    [];
down(I, V) ->
    Item = item(I, V),
    Below = down(I - 1, V),
    [Item | Below].

%% All items are messages. The first is received and its next version sent; now and then one is picked
%% out of the middle.
mailbox(Items, N, Rounds) when N rem Items =:= 0 ->
    round_done(Rounds),
    Wanted = 1 + (N div Items) * 7919 rem Items,
    receive {storm, Wanted, V, _, _} = Item -> renew(Item, Wanted, V) end,
    mailbox(Items, N + 1, Rounds);
mailbox(Items, N, Rounds) ->
    receive
        {storm, I, V, _, _} = Item ->
            renew(Item, I, V),
            mailbox(Items, N + 1, Rounds);
        {refill, From, Number, Number} ->
            From ! {more, Number},
            mailbox(Items, N, Rounds)
    end.

renew(Item, I, V) ->
    self() ! item(I, V + 1),
    ?MODULE:keep(Item).

refill(To, Number) ->
    [To ! {refill, self(), N, N} || N <- lists:seq(Number, Number + 99)],
    [receive {more, N} -> ok end || N <- lists:seq(Number, Number + 99)],
    refill(To, Number + 100).

concat(First, Rest, Count, Rounds) ->
    Both = First ++ Rest,
    ?MODULE:keep({First, Rest}),
    round_done(Rounds),
    {NewFirst, NewRest} = lists:split(Count, Both),
    concat(NewFirst, NewRest, Count, Rounds).

reverse(List, Rounds) ->
    round_done(Rounds),
    reverse(lists:reverse(List), Rounds).

decode(External, Old, Rounds) ->
    New = binary_to_term(External),
    ?MODULE:keep(Old),
    round_done(Rounds),
    decode(External, New, Rounds).

rows(Table, Old, Rounds) ->
    New = ets:tab2list(Table),
    ?MODULE:keep(Old),
    round_done(Rounds),
    rows(Table, New, Rounds).

%% Replaces some entries each time that it is woken.
sleep(Map, Items, Next, Waker, Rounds) ->
    Waker ! sleeps,
    erlang:hibernate(?MODULE, woken, [Map, Items, Next, Waker, Rounds]).

woken(Map, Items, {I, V}, Waker, Rounds) ->
    receive wake -> ok end,
    Last = min(Items, I + ?RENEWED - 1),
    New = lists:foldl(fun(N, Changed) -> Changed#{N => item(N, V)} end, Map, lists:seq(I, Last)),
    round_done(Rounds),
    Next = case Last of
        Items -> {1, V + 1};
        _ -> {Last + 1, V}
    end,
    sleep(New, Items, Next, Waker, Rounds).

wake(Sleeper) ->
    receive sleeps -> ok end,
    receive after 1 -> Sleeper ! wake end,
    wake(Sleeper).

%% The native function walks through the list, and makes terms that refer to its elements.
dirty(List, Rounds) ->
    {_Walked, Made} = ?MODULE:hold(List, ?NIF_MILLISECONDS),
    ?MODULE:keep(Made),
    round_done(Rounds),
    dirty([Item || Item <- List], Rounds).

hold(_List, _Milliseconds) -> erlang:nif_error(not_loaded).

%% The same on a normal scheduler.
native(List, Rounds) ->
    {_Walked, Made} = ?MODULE:hold_here(List, ?NIF_MILLISECONDS),
    ?MODULE:keep(Made),
    round_done(Rounds),
    native([Item || Item <- List], Rounds).

hold_here(_List, _Milliseconds) -> erlang:nif_error(not_loaded).

%% Native code to which the compiled code passes neither its stack nor its heap, and which never yields.
compare(List, Other, Rounds) ->
    ?MODULE:keep(List =:= Other),
    round_done(Rounds),
    compare(Other, List, Rounds).

%% Compiled code that is seldom where it may yield: the body of the loop makes terms and calls nothing.
cons(State, Rounds) ->
    long_body(?LONG_BODIES, 0),
    ?MODULE:keep(State),
    round_done(Rounds),
    cons(State, Rounds).

-define(FOUR(N), {N, 1}, {N, 2}, {N, 3}, {N, 4}).
-define(SIXTEEN(N), [?FOUR(N), ?FOUR({N}), ?FOUR([N]), ?FOUR({N, N})]).
-define(BODY(N), [?SIXTEEN(N), ?SIXTEEN({a, N}), ?SIXTEEN({b, N}), ?SIXTEEN({c, N}), ?SIXTEEN({d, N}),
                  ?SIXTEEN({e, N}), ?SIXTEEN({f, N}), ?SIXTEEN({g, N}), ?SIXTEEN({h, N})]).

long_body(0, Made) -> Made;
long_body(N, _) -> long_body(N - 1, [?BODY(N), ?BODY({i, N}), ?BODY({j, N}), ?BODY({k, N})]).

%% The same code, in which nothing but an x register refers to the state: the loop has no frame.
registers(State, 0, Made, Rounds) ->
    ?MODULE:keep(Made),
    round_done(Rounds),
    registers([Item || Item <- State], ?LONG_BODIES, 0, Rounds);
registers(State, N, _, Rounds) ->
    registers(State, N - 1, [?BODY(N), ?BODY({i, N}), ?BODY({j, N}), ?BODY({k, N})], Rounds).

%% A BIF that waits in a system call.
waiting_bif(State, Rounds) ->
    erts_debug:set_internal_state(sleep, ?BIF_MILLISECONDS),
    ?MODULE:keep(State),
    round_done(Rounds),
    waiting_bif([Item || Item <- State], Rounds).

%% All of it is copied for a process that drops it.
send(State, Sink, Rounds) ->
    Sink ! State,
    round_done(Rounds),
    send([Item || Item <- State], Sink, Rounds).

sink() ->
    receive _ -> sink() end.

%% Native code that compiled code calls otherwise than as a BIF, that makes a term and never yields.
multiply(State, Big, Rounds) ->
    ?MODULE:keep(Big * (Big - 1)),
    ?MODULE:keep(State),
    round_done(Rounds),
    multiply(State, Big, Rounds).

%% BIFs that never yield and make terms of megabytes.
convert(List, Rounds) ->
    Tuple = list_to_tuple(List),
    ?MODULE:keep(List),
    round_done(Rounds),
    convert(tuple_to_list(Tuple), Rounds).

hash(State, Bytes, Rounds) ->
    ?MODULE:keep(erlang:md5(Bytes)),
    ?MODULE:keep(State),
    round_done(Rounds),
    hash(State, Bytes, Rounds).
