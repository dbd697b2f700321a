%% A node that makes a thread when asked, by the library that BEAMDUMP_LATER_NIF names (without
%% ".so"): "later spin" returns when that has used a second of processor time.
-module(later).
-export([start/1, tell/1, spinning/0]).

start(_Scale) ->
    case os:getenv("BEAMDUMP_LATER_NIF") of
        false -> ok;
        Library -> erlang:load_nif(Library, 0)
    end.

tell(<<"spin">>) ->
    ok = spinning(),
    <<"ok">>.

spinning() -> erlang:nif_error(not_loaded).
