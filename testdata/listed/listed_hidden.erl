%% A module of which a policy's list has the name.
-module(listed_hidden).

-export([hold/3]).

hold(Place, Values, Done) -> listed:hold(Place, Values, Done), ok.
