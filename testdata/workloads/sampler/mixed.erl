%% A node with work of many kinds in rounds, for tables of the functions that take the most time and
%% words: arithmetic, rows of ETS, sorting, a parser, binaries, maps, terms from their external format,
%% a gen_server. Or, after "regular": a loop whose phases repeat with the period of samples at 99 Hz.
%%
%% What measures it from inside (traced.erl) takes time at each call of a function: some tens of
%% nanoseconds. So each call is long beside that: it takes ?STEPS, or what one BIF or comparison of
%% long terms takes. What a loop builds, it builds for a tenth of a millisecond and longer.
-module(mixed).
-behaviour(gen_server).
-export([start/1, tell/1, worker/1, init/1, handle_call/3, handle_cast/2]).

-define(ROUNDS, 1).
-define(REGULAR, 2).
%% Nanoseconds: of 99 samples a second.
-define(PERIOD, 10101010).
%% Words, with a scale of 1. Larger heaps are collected on dirty schedulers
%% (ERTS_POTENTIALLY_LONG_GC_HSIZE, erl_gc.c): to wait for one counts to the function by call_time, and
%% is no processor time.
-define(HEAP, 100000).
%% Of their functions that are not BIFs the work calls.
-define(TRACED, [?MODULE, lists, gen, gen_server]).

-define(STEP(X), (((X) * 31 + 7) band 16#ffffff)).
-define(STEPS4(X), ?STEP(?STEP(?STEP(?STEP(X))))).
-define(STEPS16(X), ?STEPS4(?STEPS4(?STEPS4(?STEPS4(X))))).
-define(STEPS(X), ?STEPS16(?STEPS16(?STEPS16(X)))).

-record(data, {table, keys, some, text, quote, tuple, external, chars, words, pairs, server}).

%% Scale: of the size of heaps, and so of the time between collections.
start(Scale) ->
    Heap = {min_heap_size, round(Scale * ?HEAP)},
    persistent_term:put(?MODULE, counters:new(2, [])),
    {ok, Server} = gen_server:start(?MODULE, [], [{spawn_opt, [Heap]}]),
    register(mixed_server, Server),
    register(mixed_worker, spawn_opt(?MODULE, worker, [Server], [Heap])),
    ok.

%% "rounds": how many rounds the worker has done. "regular" and "mixed": which it does from now on.
%% "time" and "words": what its functions take in five seconds by the VM's own tracing
%% (traced:told/4).
tell(<<"rounds">>) -> integer_to_binary(counters:get(persistent_term:get(?MODULE), ?ROUNDS));
tell(<<"mixed">>) -> counters:put(persistent_term:get(?MODULE), ?REGULAR, 0), <<"done">>;
tell(<<"regular">>) -> counters:put(persistent_term:get(?MODULE), ?REGULAR, 1), <<"done">>;
tell(<<"time">>) -> traced:told(call_time, ?TRACED, processes_of_work(), 5000);
tell(<<"words">>) -> traced:told(call_memory, ?TRACED, processes_of_work(), 5000).

processes_of_work() -> [whereis(mixed_worker), whereis(mixed_server)].

worker(Server) -> loop(data(Server), persistent_term:get(?MODULE)).

data(Server) ->
    Table = ets:new(mixed, [set]),
    ets:insert(Table, {key, lists:seq(1, 300)}),
    Same = lists:seq(1, 150),
    #data{table = Table,
          keys = [Same ++ [(N * 7919) rem 101] || N <- lists:seq(1, 64)],
          some = [Same ++ [(N * 7919) rem 101] || N <- lists:seq(1, 24)],
          text = text(10),
          quote = binary:compile_pattern(<<$">>),
          tuple = list_to_tuple(lists:seq(1, 400)),
          external = term_to_binary(lists:seq(1000, 1500)),
          chars = lists:duplicate(1500, $x),
          words = [lists:seq(N, N + 100) || N <- lists:seq(1, 100)],
          pairs = [{N, N} || N <- lists:seq(1, 30)],
          server = Server}.

text(Objects) ->
    Member = fun(N) -> io_lib:format("\"~s\":~16..0b", [lists:duplicate(200 + N, $a), N]) end,
    Object = fun(_) -> ["{", lists:join(",", [Member(N) || N <- lists:seq(1, 4)]), "}"] end,
    iolist_to_binary(["[", lists:join(",", [Object(N) || N <- lists:seq(1, Objects)]), "]"]).

loop(Data, Counters) ->
    _ = case counters:get(Counters, ?REGULAR) of
            0 -> mixed_round(Data);
            1 -> regular_round()
        end,
    counters:add(Counters, ?ROUNDS, 1),
    loop(Data, Counters).

mixed_round(#data{table = Table, keys = Keys, some = Some, words = Words, server = Server} = Data) ->
    Sum = compute(2500, 1),
    Rows = [length(rows(200, Sum + N, [])) || N <- [1, 2, 3]],
    Sorted = merge_sort(Keys),
    Again = lists:sort(Some),
    Objects = [parse(Data) || _ <- [1, 2, 3]],
    Recorded = gen_server:call(Server, {record, Sum}),
    Found = look_up(150, Table, 0),
    Stored = store(60, Table, Words),
    Read = gen_server:call(Server, {read, Sum}),
    Binary = append(1000, <<>>),
    Rendered = render(30, Data#data.chars, 0),
    Listed = fields(100, Data#data.tuple, 0),
    Decoded = decode(40, Data#data.external, 0),
    Folded = lists:foldl(fun fold_word/2, 0, Words),
    Made = make_maps(300, Data#data.pairs, 0),
    Searched = gen_server:call(Server, {search, Sum}),
    {Rows, Sorted, Again, Objects, Recorded, Found, Stored, Read, Binary, Rendered, Listed,
     Decoded, Folded, Made, Searched}.

%% Nothing but Erlang code.
compute(0, X) -> X;
compute(Times, X) -> compute(Times - 1, ?STEPS(X)).

%% 112 words a call.
rows(0, _, Rows) -> Rows;
rows(Times, X, Rows) ->
    Y = ?STEPS(X),
    Four = [{Y, [1 | Y]}, {Y, [2 | Y]}, {Y, [3 | Y]}, {Y, [4 | Y]} | Rows],
    Eight = [{Y, [5 | Y]}, {Y, [6 | Y]}, {Y, [7 | Y]}, {Y, [8 | Y]} | Four],
    Twelve = [{Y, [9 | Y]}, {Y, [10 | Y]}, {Y, [11 | Y]}, {Y, [12 | Y]} | Eight],
    rows(Times - 1, Y, [{Y, [13 | Y]}, {Y, [14 | Y]}, {Y, [15 | Y]}, {Y, [16 | Y]} | Twelve]).

%% Comparisons of lists that differ in their last element.
merge_sort(Keys) -> merge_all(pairs(Keys, []), []).

pairs([A, B | Keys], Pairs) when A =< B -> pairs(Keys, [[A, B] | Pairs]);
pairs([A, B | Keys], Pairs) -> pairs(Keys, [[B, A] | Pairs]);
pairs(_, Pairs) -> Pairs.

merge_all([Sorted], []) -> Sorted;
merge_all([A, B | Lists], Merged) -> merge_all(Lists, [merge(A, B, []) | Merged]);
merge_all([A], Merged) -> merge_all([A | Merged], []);
merge_all([], Merged) -> merge_all(Merged, []).

merge([A | As], [B | _] = Bs, Merged) when A =< B -> merge(As, Bs, [A | Merged]);
merge([_ | _] = As, [B | Bs], Merged) -> merge(As, Bs, [B | Merged]);
merge(As, [], Merged) -> lists:reverse(Merged, As);
merge([], Bs, Merged) -> lists:reverse(Merged, Bs).

%% A parser of JSON of arrays, objects, strings, and numbers of 16 digits.
parse(#data{text = Text, quote = Quote}) ->
    {Objects, <<>>} = value(Text, Quote),
    length(Objects).

value(<<$[, Rest/binary>>, Quote) -> array(Rest, Quote, []);
value(<<${, Rest/binary>>, Quote) -> object(Rest, Quote, []);
value(<<$", Rest/binary>>, Quote) -> string(Rest, Quote);
value(<<Number:16/binary, Rest/binary>>, _) -> {number(Number), Rest}.

array(Text, Quote, Values) ->
    case value(Text, Quote) of
        {Value, <<$,, Rest/binary>>} -> array(Rest, Quote, [Value | Values]);
        {Value, <<$], Rest/binary>>} -> {[Value | Values], Rest}
    end.

object(<<$", Text/binary>>, Quote, Members) ->
    {Name, <<$:, Rest/binary>>} = string(Text, Quote),
    case value(Rest, Quote) of
        {Value, <<$,, More/binary>>} -> object(More, Quote, [{Name, Value} | Members]);
        {Value, <<$}, More/binary>>} -> {maps:from_list([{Name, Value} | Members]), More}
    end.

%% 2 words for each character.
string(Text, Quote) ->
    {Length, 1} = binary:match(Text, Quote),
    <<String:Length/binary, $", Rest/binary>> = Text,
    {{?STEPS(Length), binary_to_list(String)}, Rest}.

number(<<A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P>>) ->
    High = ((((((A * 10 + B) * 10 + C) * 10 + D) * 10 + E) * 10 + F) * 10 + G) * 10 + H,
    Low = ((((((I * 10 + J) * 10 + K) * 10 + L) * 10 + M) * 10 + N) * 10 + O) * 10 + P,
    Digits = [A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P],
    {High * 100000000 + Low - 5333333333333328, Digits, list_to_tuple(Digits), ?STEPS(Low)}.

%% Rows are copied out of the table, and into it.
look_up(0, _, Found) -> Found;
look_up(Times, Table, Found) ->
    [{key, [_ | _]}] = ets:lookup(Table, key),
    look_up(Times - 1, Table, ?STEPS(Found)).

store(0, _, _) -> stored;
store(Times, Table, [Word | Words]) ->
    true = ets:insert(Table, {?STEPS(?STEPS(Times)) band 15, Word, Word, Word}),
    store(Times - 1, Table, Words ++ [Word]).

append(0, Binary) -> byte_size(Binary);
append(Times, Binary) ->
    X = ?STEPS(Times),
    append(Times - 1, <<Binary/binary, X:64, X:32, X:16, X:64, X:32, X:16, X:64, X:32, X:16>>).

render(0, _, Size) -> Size;
render(Times, Chars, Size) -> render(Times - 1, Chars, Size + byte_size(iolist_to_binary(Chars))).

%% 800 words a call.
fields(0, _, Sum) -> Sum;
fields(Times, Tuple, Sum) -> fields(Times - 1, Tuple, ?STEPS(Sum + hd(tuple_to_list(Tuple)))).

%% 1,000 words a call.
decode(0, _, Sum) -> Sum;
decode(Times, External, Sum) -> decode(Times - 1, External, ?STEPS(?STEPS(Sum + hd(binary_to_term(External))))).

%% 200 words.
fold_word(Word, Sum) -> ?STEPS(?STEPS(Sum + erlang:phash2(lists:reverse(Word, [])))).

%% 65 words a call.
make_maps(0, _, Size) -> Size;
make_maps(Times, Pairs, Size) -> make_maps(Times - 1, Pairs, Size + map_size(maps:from_list(Pairs))).

%% The server: a function for each kind of call.
init([]) -> {ok, {binary:copy(<<"mixed">>, 2000), lists:seq(1, 45000), 0}}.

handle_call({record, Sum}, _, State) -> record(Sum, State);
handle_call({read, Sum}, _, State) -> read(Sum, State);
handle_call({search, Sum}, _, State) -> search(Sum, State).

handle_cast(_, State) -> {noreply, State}.

record(Sum, {Binary, Numbers, Count}) ->
    <<Digest:64, _/binary>> = erlang:md5(Binary),
    {reply, ok, {Binary, Numbers, (Digest + Sum + Count) band 16#ffff}}.

read(Sum, {Binary, _, _} = State) -> {reply, listed(100, Binary, Sum), State}.

%% 400 words a call.
listed(0, _, Sum) -> Sum;
listed(Times, Binary, Sum) ->
    listed(Times - 1, Binary, ?STEPS(Sum + hd(binary_to_list(Binary, 1, 200)))).

search(Sum, {_, Numbers, _} = State) -> {reply, lists:member({Sum}, Numbers), State}.

%% Each phase lasts a fixed part of the period, whose multiples on the node's clock begin rounds. One
%% that was held up goes on in the phase that it would be in.
regular_round() ->
    Period = erlang:convert_time_unit(?PERIOD, nanosecond, native),
    Begin = erlang:system_time() div Period * Period,
    one_half(Begin + Period div 2),
    three_tenths(Begin + Period * 8 div 10),
    two_tenths(Begin + Period).

one_half(Until) ->
    case is_integer(?STEPS(Until)) andalso erlang:system_time() < Until of
        true -> one_half(Until);
        false -> done
    end.

three_tenths(Until) ->
    case is_integer(?STEPS(Until)) andalso erlang:system_time() < Until of
        true -> three_tenths(Until);
        false -> done
    end.

two_tenths(Until) ->
    case is_integer(?STEPS(Until)) andalso erlang:system_time() < Until of
        true -> two_tenths(Until);
        false -> done
    end.
