%% What the questions of docs/sql.md ask for: servers of one module with states that differ, a table
%% whose keys have prefixes, messages of several kinds, entries of dictionaries, timers.
-module(asked).
-behaviour(gen_server).
-export([start/1, write/1, init/1, handle_call/3, handle_cast/2, handle_info/2, mailbox/1,
         keeper/2, holder/2, terms/1]).

-define(SERVERS, 20).
-define(ROWS, 5000).
-define(BYTES, 123456).

start(_Scale) ->
    Servers = [begin {ok, Pid} = gen_server:start(?MODULE, N, []), Pid end
               || N <- lists:seq(1, ?SERVERS)],
    asked_rows = ets:new(asked_rows, [named_table, public]),
    true = ets:insert(asked_rows, [row(N) || N <- lists:seq(1, ?ROWS)]),
    true = ets:give_away(asked_rows, hd(Servers), nothing),
    Mailbox = started(mailbox, []),
    true = register(asked_mailbox, Mailbox),
    _ = [Mailbox ! {element(1 + N rem 3, {red, green, blue}), N} || N <- lists:seq(1, 300)],
    _ = [started(keeper, [N]) || N <- lists:seq(1, 7)],
    _ = started(holder, [binary:copy(<<"asked ">>, ?BYTES div 6)]),
    _ = [erlang:send_after(3600000, Pid, tick) || Pid <- lists:sublist(Servers, 5), _ <- [1, 2, 3]],
    Terms = started(terms, []),
    true = register(asked_terms, Terms),
    ok.

row(N) ->
    Kind = element(1 + N rem 2, {<<"user:">>, <<"order:">>}),
    {<<Kind/binary, (integer_to_binary(N))/binary>>, lists:duplicate(N rem 101, N)}.

started(Function, Arguments) ->
    Pid = spawn(?MODULE, Function, [self() | Arguments]),
    receive {Pid, ready} -> Pid end.

%% Those that wait with a time out have the state in another register.
init(N) ->
    State = {state, N, #{items => lists:seq(1, N), name => integer_to_binary(N)}},
    case N rem 2 of
        0 -> {ok, State};
        1 -> {ok, State, 3600000}
    end.

handle_call(_Request, _From, State) ->
    {reply, ok, State}.

handle_cast(_Request, State) ->
    {noreply, State}.

handle_info(_TableOrTick, State) ->
    {noreply, State}.

mailbox(Owner) ->
    Owner ! {self(), ready},
    receive never -> ok end.

keeper(Owner, N) ->
    put(asked_key, {kept, N}),
    Owner ! {self(), ready},
    receive never -> ok end.

holder(Owner, Binary) ->
    put(asked_blob, {blob, Binary}),
    erlang:garbage_collect(),
    Owner ! {self(), ready},
    receive never -> ok end.

%% Keeps terms of each kind.
terms(Owner) ->
    put(asked_terms, #{atom => 'two \'quoted\'\nwords', short_atom => ok, integer => 1 bsl 40000,
                       negative => -5, float => -1.5e-7, pid => self(), port => hd(erlang:ports()),
                       reference => make_ref(), text => <<"a \"quoted\" text">>,
                       bytes => <<0, 1, 200, 255>>, long => binary:copy(<<"0123456789">>, 30),
                       list => [1, [two], <<"three">>], string => "text", improper => [1, 2 | tail],
                       tuple => {a, {b, 2}, []}, empty => {}, numbers => lists:seq(1, 5000),
                       <<"key">> => binary_key, 7 => number_key, {1, 2} => tuple_key, 'A b' => atom_key,
                       function => fun() -> Owner end,
                       map => maps:from_list([{N, N * N} || N <- lists:seq(1, 100)])}),
    Owner ! {self(), ready},
    receive never -> ok end.

%% What the node says, a line each.
write(File) ->
    Servers = [Pid || Pid <- processes(), is_server(Pid)],
    Rows = ets:tab2list(asked_rows),
    {messages, Messages} = process_info(whereis(asked_mailbox), messages),
    Lines =
        [[state_line(Pid, sys:get_state(Pid)) || Pid <- Servers],
         [io_lib:format("rows ~s ~b ~b~n", [Prefix, length(Of), words(Of)])
          || Prefix <- ["user:", "order:"], Of <- [with_prefix(Prefix, Rows)]],
         [io_lib:format("largest ~b ~s~n", [erts_debug:flat_size(Row), element(1, Row)])
          || Row <- lists:sublist(lists:sort(fun larger/2, Rows), 10)],
         [io_lib:format("messages ~s ~b ~b~n", [Tag, length(Of), hd(Of)])
          || Tag <- [red, green, blue], Of <- [[N || {Tagged, N} <- Messages, Tagged =:= Tag]]],
         [io_lib:format("dictionary ~p ~w~n", [Pid, Value])
          || Pid <- processes(), {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
             {asked_key, Value} <- Dictionary],
         [io_lib:format("holder ~p ~b~n", [Pid, ?BYTES])
          || Pid <- processes(), {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
             {asked_blob, _} <- Dictionary],
         [io_lib:format("term ~s ~s~n", [Name, base64:encode(plain(Value))])
          || {dictionary, Dictionary} <- [process_info(whereis(asked_terms), dictionary)],
             {asked_terms, Terms} <- Dictionary,
             {Name, Value} <- maps:to_list(Terms), is_plain(Name, Value)],
         [io_lib:format("terms ~b ~b~n", [erts_debug:size(Terms), erts_debug:flat_size(Terms)])
          || {dictionary, Dictionary} <- [process_info(whereis(asked_terms), dictionary)],
             {asked_terms, Terms} <- Dictionary]],
    ok = file:write_file(File, Lines),
    <<"written">>.

is_plain(Name, Value) ->
    is_atom(Name) andalso Name =/= 'A b' andalso not is_list(Value) andalso not is_tuple(Value)
        andalso not is_map(Value) andalso not is_function(Value).

plain(Atom) when is_atom(Atom) -> atom_to_binary(Atom, utf8);
plain(Binary) when is_binary(Binary) -> Binary;
plain(Term) -> iolist_to_binary(io_lib:format("~w", [Term])).

is_server(Pid) ->
    case process_info(Pid, dictionary) of
        {dictionary, Dictionary} ->
            lists:keyfind('$initial_call', 1, Dictionary) =:= {'$initial_call', {?MODULE, init, 1}};
        undefined ->
            false
    end.

state_line(Pid, {state, N, #{items := Items}} = State) ->
    io_lib:format("state ~p ~b ~b ~b ~b~n",
                  [Pid, N, length(Items), erts_debug:size(State), erts_debug:flat_size(State)]).

with_prefix(Prefix, Rows) ->
    [Row || Row <- Rows, string:prefix(binary_to_list(element(1, Row)), Prefix) =/= nomatch].

words(Rows) ->
    lists:sum([erts_debug:flat_size(Row) || Row <- Rows]).

%% The rows with most words first, and of these in the order of their keys.
larger(One, Other) ->
    {-erts_debug:flat_size(One), element(1, One)} =< {-erts_debug:flat_size(Other), element(1, Other)}.
