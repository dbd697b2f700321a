%% Plants secrets in all places of a node: each text in the file is held as a term in every way that
%% terms can, in one kind of place.
-module(secrets).

-export([start/1, hold/2]).

-define(PLACES, [dictionary, stack, mailbox, off_heap_mailbox, dead_heap, old_heap, fun_environment, ets, ets_compressed,
                 ets_ordered, persistent_term, persistent_replaced, literals, purged_literals, timer, port_name,
                 environment, ets_name, registered, unloaded_export]).

%% File has one secret per line. File.held is created when everything is in place.
start([File]) ->
    {ok, Lines} = file:read_file(File),
    Secrets = [binary_to_list(Line) || Line <- binary:split(Lines, <<"\n">>, [global, trim])],
    Count = length(?PLACES),
    Shares = [{Place, [Secret || {N, Secret} <- lists:enumerate(0, Secrets), N rem Count =:= Index]}
              || {Index, Place} <- lists:enumerate(0, ?PLACES)],
    Holders = [begin
                   {Pid, _} = spawn_monitor(?MODULE, hold, [self(), Share]),
                   receive
                       {held, Pid} -> Pid;
                       {'DOWN', _, process, Pid, Reason} -> exit({Share, Reason})
                   end
               end || Share <- Shares],
    register(secrets_holders, spawn(fun() -> receive never -> Holders end end)),
    garbage_collect(),
    ok = file:write_file(File ++ ".held", integer_to_list(length(Holders))).

%% Every kind of term that may hold a text.
forms(Secret) ->
    Binary = list_to_binary(Secret),
    Large = <<0:400, Binary/binary, 0:800>>,
    <<_:47/binary, Part:(byte_size(Binary) + 6)/binary, _/binary>> = Large,
    <<_:3, Shifted/bits>> = <<5:3, Binary/binary>>,
    Integer = binary:decode_unsigned(<<1, Binary/binary>>),
    <<Float:64/float, _/binary>> = <<64, Binary/binary>>,
    {Secret, lists:reverse(Secret), Binary, Large, Part, <<5:3, Binary/binary>>, Shifted, Integer, -Integer, Float,
     list_to_tuple(Secret), #{Secret => Binary, list_to_atom(Secret) => Integer},
     unicode:characters_to_binary(Secret, latin1, utf16), unicode:characters_to_binary(Secret, latin1, {utf32, little}),
     list_to_atom(Secret), [Binary | Secret], term_to_binary(Secret), base64(Secret),
     {state, list_to_atom(Secret), Secret}, fun() -> Secret end, fun(X) -> {X, Binary, Integer} end}.

%% With a byte before it, in which the text stands as it is.
base64(Secret) -> [[Character] || Character <- Secret].

hold(Starter, {Place, Secrets}) ->
    put(large_map, maps:from_list([{Secret, list_to_binary(Secret)} || Secret <- Secrets])),
    hold(Place, Secrets, fun() -> Starter ! {held, self()} end).

hold(dictionary, Secrets, Done) ->
    [put({N, Secret}, forms(Secret)) || {N, Secret} <- lists:enumerate(Secrets)],
    Done(), waiting();
hold(stack, Secrets, Done) ->
    deep([{Secret, forms(Secret)} || Secret <- Secrets], Done);
hold(mailbox, Secrets, Done) ->
    [self() ! forms(Secret) || Secret <- Secrets],
    Done(), waiting();
hold(off_heap_mailbox, Secrets, Done) ->
    process_flag(message_queue_data, off_heap),
    [self() ! forms(Secret) || Secret <- Secrets],
    Done(), waiting();
hold(dead_heap, Secrets, Done) ->
    %% Not collected before the node is read: the terms are dead and on the heap.
    Self = self(),
    spawn_opt(fun() -> dead(Secrets), Self ! dead, waiting() end, [{min_heap_size, 4000000}]),
    receive dead -> ok end,
    Done(), waiting();
hold(old_heap, Secrets, Done) ->
    Forms = [forms(Secret) || Secret <- Secrets],
    erlang:garbage_collect(self(), [{type, minor}]),
    erlang:garbage_collect(self(), [{type, minor}]),
    Done(), receive never -> Forms end;
hold(fun_environment, Secrets, Done) ->
    Funs = [fun(X) -> {X, forms(Secret), Secret} end || Secret <- Secrets],
    Done(), receive never -> Funs end;
hold(ets, Secrets, Done) -> rows(ets:new(table, [public]), Secrets, Done);
hold(ets_ordered, Secrets, Done) -> rows(ets:new(table, [ordered_set]), Secrets, Done);
hold(ets_compressed, Secrets, Done) -> rows(ets:new(table, [compressed]), Secrets, Done);
hold(persistent_term, Secrets, Done) ->
    [persistent_term:put({?MODULE, Secret}, forms(Secret)) || Secret <- Secrets],
    Done(), waiting();
hold(persistent_replaced, Secrets, Done) ->
    %% What the first term held stays in a free block of the literals.
    [begin
         persistent_term:put({?MODULE, replaced}, [Secret, list_to_tuple(Secret), list_to_binary(Secret)]),
         persistent_term:put({?MODULE, replaced}, none)
     end || Secret <- Secrets],
    Done(), waiting();
hold(literals, Secrets, Done) ->
    load(secrets_literals, Secrets),
    Done(), waiting();
hold(purged_literals, Secrets, Done) ->
    load(secrets_purged, Secrets),
    code:purge(secrets_purged), code:delete(secrets_purged), code:purge(secrets_purged),
    Done(), waiting();
hold(timer, Secrets, Done) ->
    [erlang:send_after(3600000, self(), forms(Secret)) || Secret <- Secrets],
    Done(), waiting();
hold(port_name, Secrets, Done) ->
    Ports = [open_port({spawn, "cat " ++ Secret ++ " - "}, []) || Secret <- lists:sublist(Secrets, 5)],
    Done(), receive never -> Ports end;
hold(environment, Secrets, Done) ->
    [os:putenv(Secret, "value" ++ Secret) || Secret <- Secrets],
    Environment = os:getenv(),
    Done(), receive never -> Environment end;
hold(ets_name, Secrets, Done) ->
    [ets:new(list_to_atom(Secret), [named_table]) || Secret <- Secrets],
    Done(), waiting();
hold(registered, Secrets, Done) ->
    [register(list_to_atom(Secret), spawn(fun() -> label(Secret), waiting() end)) || Secret <- Secrets],
    Done(), waiting();
hold(unloaded_export, Secrets, Done) ->
    %% An entry of the exports' table, without a module.
    Funs = [begin Name = list_to_atom(Secret), fun Name:Name/1 end || Secret <- Secrets],
    Done(), receive never -> Funs end.

rows(Table, Secrets, Done) ->
    [ets:insert(Table, {Secret, forms(Secret), list_to_atom(Secret), list_to_binary(Secret)}) || Secret <- Secrets],
    Done(), waiting().

dead(Secrets) ->
    length([forms(Secret) || Secret <- Secrets]).

deep([], Done) -> Done(), waiting();
deep([{Secret, Forms} | Rest], Done) ->
    [First | _] = Secret,
    deep(Rest, Done),
    {First, Secret, Forms}.

label(Secret) ->
    try proc_lib:set_label({Secret, list_to_binary(Secret)}) catch error:undef -> put(label, Secret) end.

%% A module whose constants are the secrets.
load(Name, Secrets) ->
    Constants = [{Secret, list_to_binary(Secret), list_to_tuple(Secret)} || Secret <- Secrets],
    Forms = [{attribute, 1, module, Name}, {attribute, 1, author, hd(Secrets)}, {attribute, 2, export, [{all, 0}]},
             {function, 3, all, 0, [{clause, 3, [], [], [erl_parse:abstract(Constants)]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "/home/" ++ hd(Secrets) ++ "/" ++ atom_to_list(Name) ++ ".erl", Code).

waiting() -> receive never -> ok end.
