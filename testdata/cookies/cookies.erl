%% Plants cookies in all places of a node: sets each for some other node, and has processes that hold
%% it as text in every way that terms can.
-module(cookies).

-export([start/1, compiled_in/0]).

-define(FILLER, 300000).

%% File has one cookie per line, in UTF-8. The node knows the first Known of them already; they are
%% not set here. File.held is created when everything is in place.
start([File, Known]) ->
    {ok, Lines} = file:read_file(File),
    Cookies = [unicode:characters_to_list(Line) || Line <- binary:split(Lines, <<"\n">>, [global, trim])],
    Set = lists:nthtail(list_to_integer(Known), Cookies),
    [true = erlang:set_cookie(list_to_atom("node" ++ integer_to_list(N) ++ "@cookies"),
                              list_to_atom(Cookie))
     || {N, Cookie} <- lists:zip(lists:seq(1, length(Set)), Set)],
    register(cookies_all, spawn(fun() -> hold(Cookies) end)),
    Holders = [begin
                   Holder = spawn(fun() -> hold([Cookie]) end),
                   Holder ! forms(Cookie),
                   Holder
               end || Cookie <- Cookies],
    persistent_term:put({?MODULE, all}, [forms(Cookie) || Cookie <- Cookies]),
    persistent_term:put({?MODULE, environment}, os:getenv()),
    %% Pieces in which a dump is written end at any byte of some of these.
    Large = iolist_to_binary([[lists:duplicate(37 + N rem 5, $.), utf8(Cookie)]
                              || {N, Cookie} <- lists:zip(lists:seq(1, length(Cookies)), Cookies),
                                 _ <- lists:seq(1, 12)]),
    true = byte_size(Large) > ?FILLER,
    register(cookies_large, spawn(fun() -> hold_large(Large, lists:flatten(lists:duplicate(12, Cookies))) end)),
    register(cookies_holders, spawn(fun() -> receive never -> Holders end end)),
    ok = file:write_file(File ++ ".held", integer_to_list(length(Holders))).

%% Never called: what it gives stands among the literals and nowhere else.
compiled_in() -> {"a string that was compiled in", <<"a binary that was compiled in">>}.

utf8(Cookie) -> unicode:characters_to_binary(Cookie).

forms(Cookie) ->
    Binary = utf8(Cookie),
    Shared = <<0:400, Binary/binary, 0:80>>,
    <<_:47/binary, Part:(byte_size(Binary) + 6)/binary, _/binary>> = Shared,
    {Cookie, lists:reverse(Cookie) -- [], Binary, Shared, Part, #{cookie => Cookie, Binary => 1},
     [$-, $- | Cookie] ++ "--", <<"-setcookie ", Binary/binary>>, {state, list_to_atom(Cookie)}}.

hold(Cookies) ->
    [put({N, Cookie}, forms(Cookie)) || {N, Cookie} <- lists:zip(lists:seq(1, length(Cookies)), Cookies)],
    waiting([forms(Cookie) || Cookie <- Cookies]).

hold_large(Large, List) ->
    receive never -> {Large, List} end.

waiting(Forms) ->
    receive never -> Forms end.
