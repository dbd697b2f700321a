%% What the questions of docs/sql.md ask for: servers of one module with states that differ, a table
%% whose keys have prefixes, messages of several kinds, entries of dictionaries, timers.
-module(asked).
-behaviour(gen_server).
-export([start/1, write/1, init/1, handle_call/3, handle_cast/2, handle_info/2, mailbox/1,
         sender/3, keeper/2, holder/2, terms/1, users/1, unread/1, grower/1, stuck/1, caller/2]).

-define(SERVERS, 20).
-define(ROWS, 5000).
-define(BYTES, 123456).
-define(USERS, 600).
-define(UNREAD, 1234).

start(_Scale) ->
    Servers = [begin {ok, Pid} = gen_server:start(?MODULE, N, []), Pid end
               || N <- lists:seq(1, ?SERVERS)],
    asked_rows = ets:new(asked_rows, [named_table, public]),
    true = ets:insert(asked_rows, [row(N) || N <- lists:seq(1, ?ROWS)]),
    true = ets:give_away(asked_rows, hd(Servers), nothing),
    Mailbox = started(mailbox, []),
    true = register(asked_mailbox, Mailbox),
    true = register(asked_even, started(sender, [Mailbox, 0])),
    true = register(asked_odd, started(sender, [Mailbox, 1])),
    _ = [started(keeper, [N]) || N <- lists:seq(1, 7)],
    _ = started(holder, [binary:copy(<<"asked ">>, ?BYTES div 6)]),
    _ = [erlang:send_after(3600000, Pid, tick) || Pid <- lists:sublist(Servers, 5), _ <- [1, 2, 3]],
    Terms = started(terms, []),
    true = register(asked_terms, Terms),
    _ = started(users, []),
    _ = started(unread, []),
    true = register(asked_grower, started(grower, [])),
    %% Four wait for one that waits for another.
    Stuck = started(stuck, []),
    true = register(asked_stuck, Stuck),
    Middle = started(caller, [Stuck]),
    _ = [started(caller, [Middle]) || _ <- lists:seq(1, 4)],
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

sender(Owner, Mailbox, Rest) ->
    _ = [Mailbox ! {element(1 + N rem 3, {red, green, blue}), N} || N <- lists:seq(1, 300), N rem 2 =:= Rest],
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
                       function => fun() -> Owner end, export => fun lists:map/2, bits => <<5:3>>,
                       keys => #{1.5 => of_float, [1, {2}] => of_list, self() => of_pid, -7 => of_negative,
                                 <<>> => of_empty, 'it\'s' => of_quote},
                       map => maps:from_list([{N, N * N} || N <- lists:seq(1, 100)])}),
    Owner ! {self(), ready},
    receive never -> ok end.

%% Owns a table that it has fixed, whose rows have maps.
users(Owner) ->
    asked_users = ets:new(asked_users, [named_table, public]),
    true = ets:insert(asked_users, [{N, #{user => user(N), number => N}} || N <- lists:seq(1, ?USERS)]),
    true = ets:safe_fixtable(asked_users, true),
    Owner ! {self(), ready},
    receive never -> ok end.

user(N) -> lists:nth(1 + min(N rem 7, N rem 5), [ann, bob, cid, dan, eve]).

%% Has a socket with bytes that it never reads.
unread(Owner) ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}, binary]),
    {ok, Port} = inet:port(Listener),
    {ok, Client} = gen_tcp:connect({127, 0, 0, 1}, Port, [{active, false}, binary]),
    {ok, Server} = gen_tcp:accept(Listener),
    ok = gen_tcp:send(Client, binary:copy(<<"u">>, ?UNREAD)),
    Owner ! {self(), ready},
    receive never -> {Listener, Client, Server} end.

grower(Owner) ->
    Owner ! {self(), ready},
    grower_loop([]).

grower_loop(Kept) ->
    receive
        {grow, From} ->
            More = lists:seq(1, 100000),
            erlang:garbage_collect(),
            From ! {self(), grown},
            grower_loop([More | Kept])
    end.

stuck(Owner) ->
    Owner ! {self(), ready},
    receive never -> ok end.

caller(Owner, Callee) ->
    Owner ! {self(), ready},
    gen_server:call(Callee, question, infinity).

%% What the node says, a line each. At the end asked_grower grows.
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
         [io_lib:format("messages ~s ~b ~b~n", [Tag, length(Of), lists:min(Of)])
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
             {asked_terms, Terms} <- Dictionary],
         [io_lib:format("message ~w~n", [Message]) || Message <- Messages],
         [io_lib:format("initial_call ~p ~w~n", [Pid, Call])
          || Pid <- processes(), {dictionary, Dictionary} <- [process_info(Pid, dictionary)],
             {'$initial_call', Call} <- Dictionary],
         [part_lines(Pid, sys:get_state(Pid)) || Pid <- Servers],
         [table_line(Table) || Table <- ets:all()],
         [io_lib:format("owner ~p ~b~n", [Owner, Reductions])
          || Owner <- lists:usort([ets:info(Table, owner) || Table <- ets:all()]), is_pid(Owner),
             {reductions, Reductions} <- [process_info(Owner, reductions)]],
         [io_lib:format("user ~s ~b ~b~n", [User, length(Of), words(Of)])
          || User <- [ann, bob, cid, dan, eve],
             Of <- [[Row || {_, #{user := Known}} = Row <- ets:tab2list(asked_users), Known =:= User]]],
         [io_lib:format("module ~w ~ts~n", [Module, application_of(File0)])
          || {Module, File0} <- code:all_loaded()],
         [io_lib:format("unread ~p ~b~n", [Pid, ?UNREAD])
          || Pid <- processes(), process_info(Pid, current_function) =:= {current_function, {?MODULE, unread, 1}}],
         [io_lib:format("sender ~b ~p~n", [Rest, whereis(Name)])
          || {Rest, Name} <- [{0, asked_even}, {1, asked_odd}]],
         [io_lib:format("application ~p ~w~n", [Pid, Application])
          || Pid <- processes(), {ok, Application} <- [application:get_application(Pid)]],
         grown_line(whereis(asked_grower))],
    ok = file:write_file(File, Lines),
    <<"written">>.

part_lines(Pid, State) ->
    [io_lib:format("part ~p ~b ~b ~b~n",
                   [Pid, N, erts_debug:size(element(N, State)), erts_debug:flat_size(element(N, State))])
     || N <- lists:seq(1, tuple_size(State))].

%% A table may go meanwhile.
table_line(Table) ->
    case ets:info(Table) of
        undefined ->
            [];
        Info ->
            [Id, Name, Owner, Size, Memory, Fixed] =
                [proplists:get_value(Item, Info) || Item <- [id, name, owner, size, memory]]
                ++ [ets:info(Table, fixed)],
            io_lib:format("table ~p ~w ~p ~b ~b ~w~n", [Id, Name, Owner, Size, Memory, Fixed])
    end.

%% Of the file of a module below lib: the folder's name without the version.
application_of(File) when is_list(File) ->
    case lists:reverse(filename:split(File)) of
        [_, "ebin", Folder | _] -> hd(string:split(Folder, "-"));
        _ -> "none"
    end;
application_of(_) ->
    "none".

grown_line(Pid) ->
    {memory, Before} = process_info(Pid, memory),
    Pid ! {grow, self()},
    receive {Pid, grown} -> ok end,
    {memory, After} = process_info(Pid, memory),
    io_lib:format("grown ~p ~b ~b~n", [Pid, Before, After]).

is_plain(Name, Value) ->
    is_atom(Name) andalso Name =/= 'A b' andalso Name =/= bits andalso not is_list(Value) andalso not is_tuple(Value)
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
