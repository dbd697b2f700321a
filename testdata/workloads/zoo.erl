%% A node with every kind of term, in every place where a process can hold one, and with processes
%% in every state in which one can rest. zoo_sizes has what they say of their own sizes. The scale
%% multiplies the sizes of the large and the deep ones.
%%
%% Each group of zoo_terms is held five times: in a stack, one frame a term (zoo_stack_GROUP); in a
%% dictionary; in a message queue on the heap and one off the heap; in a server's state. With
%% `-zoo_without GROUP...` it has all groups but these.
-module(zoo).
-export([start/1, exhibit/3, await/1, hold_stack/3, hold_dictionary/3, hold_messages/2, large/4,
         frames/1, rest/0]).

start(Scale) ->
    ok = zoo_sizes:new(),
    ok = zoo_shared:persist(),
    lists:foreach(fun hold_group/1, groups()),
    lists:foreach(fun hold_large/1, large_terms(Scale)),
    zoo_dag(),
    ok = zoo_servers:start(),
    ok = zoo_states:start(),
    ok = zoo_relations:start(),
    ok = zoo_remote:start(),
    settle().

groups() ->
    LeftOut = case init:get_argument(zoo_without) of
                  {ok, Names} -> [list_to_atom(Name) || Name <- lists:append(Names)];
                  error -> []
              end,
    [{Name, Make} || {Name, Make} <- zoo_terms:groups(), not lists:member(Name, LeftOut)].

%% A registered process that has said that it is in place.
exhibit(Name, Options, {M, F, A}) ->
    Pid = spawn_opt(M, F, A, Options),
    true = register(Name, Pid),
    Pid.

await(Pid) ->
    receive {Pid, ready} -> Pid after 600000 -> exit({never_ready, Pid}) end.

hold_group({Group, Make}) ->
    await(exhibit(name(stack, Group), [],
                  {?MODULE, hold_stack, [self(), name(stack, Group), Make]})),
    await(exhibit(name(dictionary, Group), [],
                  {?MODULE, hold_dictionary, [self(), name(dictionary, Group), Make]})),
    hold_mail(name(on_heap, Group), [{message_queue_data, on_heap}], Make),
    hold_mail(name(off_heap, Group), [{message_queue_data, off_heap}], Make),
    ok = zoo_servers:hold_state(name(state, Group), Make).

name(Place, Group) -> list_to_atom(lists:concat([zoo_, Place, '_', Group])).

%% ---- in a stack ------------------------------------------------------------------------------

hold_stack(Owner, Name, Make) ->
    Terms = Make(),
    report_stack(Name, Terms),
    Owner ! {self(), ready},
    frames([Term || {_, Term} <- Terms]).

%% The innermost frame with a register has the last term.
report_stack(Name, Terms) ->
    Count = length(Terms),
    lists:foreach(fun({N, {Description, Term}}) ->
                      zoo_sizes:report(Name, {stack, Description, Count - N + 1, 0}, Term)
                  end, lists:zip(lists:seq(1, Count), Terms)).

%% Each term in y(0), the only one, of a frame of its own.
frames([Term | Terms]) ->
    Inner = frames(Terms),
    [Term | Inner];
frames([]) ->
    rest().

rest() ->
    receive {zoo, finish} -> [] end.

%% ---- in a dictionary -------------------------------------------------------------------------

%% Descriptions as keys; and each term that can be is a key as well.
hold_dictionary(Owner, Name, Make) ->
    Terms = Make(),
    lists:foreach(fun({Description, Term}) ->
                      put(Description, Term),
                      put({key, Term}, Description)
                  end, Terms),
    lists:foreach(fun({Description, Term}) ->
                      zoo_sizes:report(Name, {dictionary, Description}, Term)
                  end, Terms),
    Owner ! {self(), ready},
    rest().

%% ---- in a message queue ----------------------------------------------------------------------

hold_mail(Name, Options, Make) ->
    Pid = await(exhibit(Name, Options, {?MODULE, hold_messages, [self(), Name]})),
    lists:foreach(fun({_, Term}) -> Pid ! Term end, Make()),
    Pid ! {zoo, measure},
    await(Pid).

hold_messages(Owner, Name) ->
    Owner ! {self(), ready},
    receive {zoo, measure} -> ok end,
    %% process_info/2 would give copies without the sharing of literals that messages keep.
    Messages = take_messages(),
    lists:foreach(fun({N, Term}) ->
                          zoo_sizes:report(Name, {message, N}, Term),
                          self() ! Term
                  end,
                  lists:zip(lists:seq(0, length(Messages) - 1), Messages)),
    Owner ! {self(), ready},
    rest().

take_messages() ->
    receive Term -> [Term | take_messages()] after 0 -> [] end.

%% ---- large and deep --------------------------------------------------------------------------

large_terms(Scale) ->
    Count = fun(AtScaleOne) -> max(1, round(AtScaleOne * Scale)) end,
    [{zoo_improper, improper, Count(1000000)}, {zoo_deep_tuples, nested_tuples, Count(1000000)},
     {zoo_deep_lists, nested_lists, Count(1000000)},
     {zoo_deep_maps, nested_maps, Count(100000)}, {zoo_deep_funs, nested_funs, Count(100000)},
     {zoo_deep_mix, nested_mix, Count(100000)}, {zoo_million_map, million_map, Count(1000000)}].

hold_large({Name, Function, Count}) ->
    await(exhibit(Name, [], {?MODULE, large, [self(), Name, Function, Count]})).

large(Owner, Name, Function, Count) ->
    Term = zoo_terms:Function(Count),
    report_large(Name, Function, Term),
    erlang:garbage_collect(),
    Owner ! {self(), ready},
    frames([Term]).

report_large(Name, Function, Term) when Function =:= million_map; Function =:= nested_mix ->
    %% They have large maps, and share nothing.
    Flat = erts_debug:flat_size(Term),
    zoo_sizes:report(Name, {stack, Function, 1, 0}, Flat, Flat, self());
report_large(Name, Function, Term) ->
    report_stack(Name, [{Function, Term}]).

%% Nobody may copy this: 2^60 tuples when flat. In the dictionary and, the same, on the stack.
zoo_dag() ->
    Owner = self(),
    Pid = spawn(fun() ->
                    true = register(zoo_dag, self()),
                    Dag = zoo_shared:dag(60),
                    put(dag, Dag),
                    Owner ! {self(), ready},
                    frames([Dag])
                end),
    await(Pid),
    Flat = zoo_shared:dag_flat_words(60),
    Shared = zoo_shared:dag_shared_words(60),
    zoo_sizes:report(zoo_dag, {dictionary, dag}, Flat, Shared, Pid),
    zoo_sizes:report(zoo_dag, {stack, dag, 1, 0}, Flat, Shared, Pid).

%% ---- at rest ---------------------------------------------------------------------------------

%% Waits until all of the zoo rest. Asked for their reductions, they handle a signal: one that has a
%% garbage collection to make up for does it here, and not when a test asks it.
settle() ->
    Before = reductions(),
    timer:sleep(300),
    case [Name || {Name, Reductions} <- reductions(),
                  Reductions > proplists:get_value(Name, Before) + 1] of
        [] -> ok;
        _ -> settle()
    end.

reductions() ->
    [{Name, Reductions} || Name <- registered(), lists:prefix("zoo_", atom_to_list(Name)),
                           {reductions, Reductions} <- [process_info(whereis(Name), reductions)]].
