%% Made-up users: the data that the sample and standard nodes hold. The same number always gives
%% the same user, so that two nodes started alike hold alike data.
-module(workload_data).
-export([user/1, users/2, blob/1]).

%% A tuple with binaries, a nested tuple and a map, as business records look.
user(Id) ->
    Number = integer_to_binary(Id),
    {user, Id, <<"user-", Number/binary>>,
     {address, city(Id rem 7), 10000 + Id rem 89999, {Id rem 180, Id rem 90}},
     #{email => <<"u", Number/binary, "@ex.org">>, visits => Id rem 1000}}.

%% Count users from First on.
users(First, Count) ->
    users(First, Count, []).

users(_, 0, Users) ->
    Users;
users(First, Count, Users) ->
    users(First, Count - 1, [user(First + Count - 1) | Users]).

%% A reference-counted binary of 1 KiB that differs from one number to the next.
blob(Id) ->
    binary:copy(<<Id:64, (Id * 7919):64>>, 64).

city(0) -> <<"Kiruna">>;
city(1) -> <<"Lund">>;
city(2) -> <<"Malmo">>;
city(3) -> <<"Uppsala">>;
city(4) -> <<"Visby">>;
city(5) -> <<"Vaxjo">>;
city(6) -> <<"Ystad">>.
