%% Holds texts and numbers that the lists of a redaction policy name, and others, in each kind of
%% place.
-module(listed).

-export([start/1, hold/3]).

%% File has one term for each place: {Place, Kept, Hidden, Other, Shared}, each {Text, Number}.
%% File.held is created when everything is in place.
start([File]) ->
    {ok, Places} = file:consult(File),
    Holders = [begin
                   Self = self(),
                   {Pid, _} = spawn_monitor(module_of(Place), hold, [Place, Values, fun() -> Self ! {held, self()} end]),
                   receive
                       {held, Pid} -> Pid;
                       {'DOWN', _, process, Pid, Reason} -> exit({Place, Reason})
                   end
               end || {Place, Kept, Hidden, Other, Shared} <- Places, Values <- [{Kept, Hidden, Other, Shared}]],
    register(listed_holders, spawn(fun() -> receive never -> Holders end end)),
    ok = file:write_file(File ++ ".held", integer_to_list(length(Holders))).

module_of(kept_module) -> listed_kept;
module_of(hidden_module) -> listed_hidden;
module_of(_) -> ?MODULE.

%% Each kind of term that holds a value.
forms({Text, Number}) ->
    [list_to_binary(Text), Text, list_to_atom(Text), Number, {ok, [Number, #{inner => list_to_binary(Text)}]},
     Number + 0.5, Number bsl 64].

%% What the lists name, in each way, with what they hide in it.
terms({Kept, Hidden, Other, Shared}) ->
    Both = forms(Shared),
    [#{shown => forms(Kept), private => forms(Hidden), other => forms(Other)},
     #{<<"shown">> => forms(Kept), "private" => forms(Hidden), 7 => forms(Other)},
     maps:from_list([{shown, forms(Kept)}, {private, forms(Hidden)} | [{N, forms(Other)} || N <- lists:seq(1, 40)]]),
     {order, forms(Kept), #{private => forms(Hidden), inner => [{secret, forms(Hidden)}]}},
     [{shown, forms(Kept)}, {private, forms(Hidden)}, {other, forms(Other)}],
     #{'__struct__' => 'Elixir.Shop.Item', value => forms(Kept), closed => #{'__struct__' => shop_key, v => forms(Hidden)}},
     {forms(Other), shown, forms(Other)},
     #{shown => Both, private => Both},
     {order, Both, [{private, [{order, Both}]}]},
     %% Their keys are in a tuple, which is no pair and no record.
     [#{Name => 1, list_to_binary(element(1, Other)) => forms(Other)} || Name <- [shown, order]]].

-if(?OTP_RELEASE >= 29).
%% Keys that the atom table does not have in this order.
-record #order{zz_rest, private, aa_rest}.
-record #bag{shown, private, other}.

records(Kept, Hidden, Other) ->
    [#order{zz_rest = Kept, private = Hidden, aa_rest = Kept}, #bag{shown = Kept, private = Hidden, other = Other}].
-else.
records(Kept, Hidden, Other) ->
    [{order, Kept, [{private, Hidden}]}, [{shown, Kept}, {private, Hidden}, {other, Other}]].
-endif.

hold(dictionary, {Kept, Hidden, Other, _} = Values, Done) ->
    put(shown, forms(Kept)), put(private, forms(Hidden)), put(other, forms(Other)), put(terms, terms(Values)),
    Done(), waiting();
hold(records, {Kept, Hidden, Other, _}, Done) ->
    put(records, records(forms(Kept), forms(Hidden), forms(Other))),
    Done(), waiting();
hold(stack, Values, Done) ->
    deep(terms(Values), Done);
hold(mailbox, Values, Done) ->
    self() ! terms(Values),
    Done(), waiting();
hold(old_heap, Values, Done) ->
    Terms = terms(Values),
    erlang:garbage_collect(), erlang:garbage_collect(),
    Done(), receive never -> Terms end;
hold(ets, {Kept, Hidden, Other, _} = Values, Done) ->
    Table = ets:new(table, []),
    ets:insert(Table, [{terms, terms(Values)}, {shown, forms(Kept)}, {private, forms(Hidden)}, {other, forms(Other)}]),
    Done(), waiting();
hold(persistent_term, {Kept, Hidden, Other, _} = Values, Done) ->
    persistent_term:put({?MODULE, terms}, terms(Values)),
    persistent_term:put(shown, forms(Kept)),
    persistent_term:put(private, forms(Hidden)),
    persistent_term:put(other, forms(Other)),
    Done(), waiting();
hold(literals, Values, Done) ->
    Forms = [{attribute, 1, module, listed_literals}, {attribute, 2, export, [{all, 0}]},
             {function, 3, all, 0, [{clause, 3, [], [], [erl_parse:abstract(terms(Values))]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "listed_literals.erl", Code),
    Done(), waiting();
hold(kept_module, {Kept, Hidden, _, _}, Done) ->
    %% All terms of the process but those of a hide-list.
    put(any, forms(Kept)),
    Terms = {forms(Kept), #{private => forms(Hidden)}},
    Done(), receive never -> Terms end;
hold(hidden_module, {_, Hidden, Other, _}, Done) ->
    %% None of the terms of the process.
    put(shown, forms(Hidden)),
    Terms = {order, forms(Hidden), forms(Other)},
    Done(), receive never -> Terms end.

deep([], Done) -> Done(), waiting();
deep([Term | Rest], Done) ->
    deep(Rest, Done),
    Term.

waiting() -> receive never -> ok end.
