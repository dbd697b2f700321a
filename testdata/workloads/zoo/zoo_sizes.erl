%% The registry of sizes: what the zoo's processes said of their own roots before they came to rest.
%% One row a root, each with the words that erts_debug:flat_size/1 and erts_debug:size/1 count.
-module(zoo_sizes).
-export([new/0, report/3, report/5, is_small/1, write/1]).

%% The largest size in words for which size/1 is fast enough, provided that no long list is like its
%% own tails.
-define(SMALL, 40000).

new() ->
    zoo_sizes = ets:new(zoo_sizes, [named_table, public, duplicate_bag]),
    ok.

%% Of the calling process. Where is {dictionary, Key}: the value; {message, Index}: Index counts
%% from 0; {state, Module}: the state of a behaviour; {stack, Description, Frame, Register}: Frame
%% counts from 0, the innermost.
report(Name, Where, Term) ->
    {Flat, Shared} = measure(Term),
    report(Name, Where, Flat, Shared, self()).

report(Name, Where, Flat, Shared, Pid) ->
    true = ets:insert(zoo_sizes, {Pid, Name, Where, Flat, Shared}),
    ok.

%% size/1 keeps every term it has seen in a tree and is in Erlang: hours for a large term.
%% size_shared/1 is quick, but leaves literals out, counts large maps twice or so, and sub binaries
%% otherwise than size/1: a term that is not small must have none of these.
measure(Term) ->
    Flat = erts_debug:flat_size(Term),
    case Flat =< ?SMALL of
        true -> {Flat, erts_debug:size(Term)};
        false -> {Flat, erts_debug:size_shared(Term)}
    end.

is_small(Term) -> erts_debug:flat_size(Term) =< ?SMALL.

%% One JSON object a line. Returns how many.
write(File) ->
    Rows = ets:tab2list(zoo_sizes),
    ok = file:write_file(File, [line(Row) || Row <- Rows]),
    length(Rows).

line({Pid, Name, Where, Flat, Shared}) ->
    oracle:line([{pid, Pid}, {name, {term, Name}} | where(Where)]
                ++ [{flat_words, Flat}, {shared_words, Shared}]).

where({dictionary, Key}) -> [{where, {text, "dictionary"}}, {key, {term, Key}}];
where({message, Index}) -> [{where, {text, "message"}}, {index, Index}];
where({state, Module}) -> [{where, {text, "state"}}, {key, {term, Module}}];
where({stack, Description, Frame, Register}) ->
    [{where, {text, "stack"}}, {key, {term, Description}}, {frame, Frame}, {register, Register}].
