# Terms of every kind that Elixir has a notation for, and the text that inspect/2 gives of each.

defmodule Zoo.Empty do
  defstruct []
end

defmodule Zoo.Keeper do
  defstruct age: 0, name: "", tags: []
end

defmodule Zoo.Large do
  defstruct Enum.map(1..40, &{:"field_#{&1}", &1})
end

defmodule Zoo.Failure do
  defexception message: "it failed"
end

defmodule Zoo.Funs do
  def made(x), do: fn y -> x + y end
  def nested?(x), do: fn -> fn _, _ -> x end end
  def unquote(:"odd name")(x), do: fn -> x end
  def all(x), do: [made(x), nested?(x), nested?(x).(), apply(__MODULE__, :"odd name", [x])]
end

defmodule Zoo.Server do
  use GenServer

  @impl true
  def init(state), do: {:ok, state}

  @impl true
  def handle_call(:state, _from, state), do: {:reply, state, state}
end

defmodule Zoo.Terms do
  def all do
    atoms() ++ numbers() ++ texts() ++ lists() ++ maps() ++ others()
  end

  defp atoms do
    names =
      ["ok", "nil", "true", "false", "", "Elixir", "Elixir.Zoo", "Elixir.Zoo.Keeper",
       "Elixir.Elixir", "Elixir.Elixir.Zoo", "Elixir.zoo", "Elixir.", "Elixir.Zoo.", "ElixirZoo",
       "Zoo", "a b", "a\nb", "a\"b", "a\\b", "a\#{b}", "a#b", "#", "a@b", "nonode@nohost", "a?",
       "a!", "a?b", "?", "!", "_", "_a", "__struct__", "1a", "a1", "a-b", "a.b", "Zoo?", "Zoo@a",
       "%", "%{}", "{}", "<<>>", "...", "..", ".", "..//", "->", "::", "^^^", "~~~", "<|>", "+",
       "-", "*", "/", "//", "++", "--", "+++", "---", "<>", "|", "||", "|||", "&&", "&&&", "and",
       "or", "not", "in", "when", "==", "!=", "===", "!==", "=~", "=", "<", "<=", ">=", ">", "|>",
       "<<<", ">>>", "<~", "~>", "<<~", "~>>", "<~>", "<-", "\\\\", "&", "@", "^", "!=", "**", "do",
       "end", "fn", "after", "\0", "\x7F", "\e", "a\tb", "é", "été", "Été", "straße", "naïve!",
       "αβγ", "мир", "aα", "😀", "a😀", "×", "ĳ", "'", "[]", "()", ",", "a,b", ":a", "a:"]

    list = Enum.map(names, &String.to_atom/1)
    list ++ Enum.map(list, &[{&1, 1}]) ++ Enum.map(list, &%{&1 => 1})
  end

  defp numbers do
    small = [0, -1, 1, 255, 256, 576_460_752_303_423_487, -576_460_752_303_423_489]
    large = [2 ** 64, -(2 ** 64), 10 ** 40, -(2 ** 200)]

    floats =
      [0.0, -0.0, 1.0, -1.5, 0.1, 100.0, 1000.0, 1.0e3, 123456.7, 1.0e15, 1.0e16, 1.5e16, 1.0e-5,
       0.001, 0.0001, 123.0e20, 5.0e-324, 1.7976931348623157e308, 9_007_199_254_740_992.0,
       9_007_199_254_740_993.5, 12_345_678_901_234.5, 1.0e22, 1.0e23, 2.5e-10, 3.14159]

    :rand.seed(:exsss, {1, 2, 3})

    random =
      for _ <- 1..200, do: (:rand.uniform() - 0.5) * :math.pow(10, :rand.uniform(40) - 20)

    small ++ large ++ floats ++ random
  end

  defp texts do
    strings =
      ["", "text", "a\"b", "a\\b", "a\nb\r\t\v\b\f\e\a\d", "\#{not}", "# { #", "a#", "#\#{", "é",
       "日本語", "😀", "\u00A1", "\uFFFD", "a\0b", "\u0080", "\u009F", "\uFFFE", <<255>>, <<0>>, <<1, 2, 3>>,
       <<"text", 200>>, <<195>>, <<"text", 195>>, <<0::4>>, <<1::1>>, <<1, 2, 3::3>>, <<"text", 1::7>>,
       String.duplicate("long ", 1000), String.duplicate("é", 3000), String.duplicate("#", 1000),
       String.duplicate("\#{", 1000), String.duplicate(<<1>>, 3000), String.duplicate("x", 64) <> <<0>>]

    parts = [binary_part(String.duplicate("part of it ", 100), 3, 500), binary_part("héllo", 0, 2)]
    <<_::3, bits::bitstring>> = String.duplicate("bits", 30)
    charlists = ["text", "a\"b", "a'b", "a\\b", "a\nb\a\e", "\#{not}", "#", " ", "~"]

    strings ++
      parts ++ [bits] ++ Enum.map(charlists, &String.to_charlist/1) ++ [[0], [6], [127], [233], [7]]
  end

  defp lists do
    [[], [1], [1, 2, 3], [:a, "b", 3.0], [1 | 2], [1, 2 | :tail], [[1], [[2]]], [a: 1], [a: 1, b: [c: 2]],
     [{:a, 1} | :b], [{:a, 1}, :b], [{:a, 1, 2}], [{"a", 1}], [{Zoo, 1}], [nil: 1, true: 2, "a b": 3],
     [a: 1, a: 2], [?a, ?b | ?c], [?a | :b], [{}, []], Enum.to_list(1000..2000), List.duplicate([a: 1], 50)]
  end

  defp maps do
    large_atoms = Map.new(1..50, &{:"key_#{&1}", &1})
    large = Map.new(1..500, &{&1, "value #{&1}"})

    [%{}, %{a: 1}, %{a: 1, b: %{c: 2}}, %{"a" => 1}, %{:a => 1, "b" => 2}, %{1 => 2, [3] => {4}}, %{Zoo => 1},
     %{nil => 1}, %{"a b": 1}, %{__struct__: 1}, %{__struct__: :zoo}, %{__struct__: nil, a: 1}, large_atoms,
     large, %Zoo.Empty{}, %Zoo.Keeper{age: 7, name: "Ann", tags: [:a, b: 1]}, %Zoo.Failure{},
     %{k: %Zoo.Keeper{}, l: [%Zoo.Empty{}]}, Map.new(1..33, &{{:t, &1}, [&1]})]
  end

  defp others do
    funs = Zoo.Funs.all(1) ++ [&String.length/1, &:lists.map/2, &Kernel.+/2, &:erlang.!/2, &Zoo.Funs."odd name"/1]
    alias_reference = :erlang.monitor(:process, self(), alias: :explicit_unalias)
    far = :erlang.binary_to_term(<<131, 88, 119, 8, "far@away", 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 1>>)

    [{}, {1}, {:ok, "text"}, {{{}}}, self(), hd(Port.list()), make_ref(), alias_reference, far, {far, :ok}] ++ funs
  end

  def state do
    %{
      keepers: [%Zoo.Keeper{name: "Ann"}, %Zoo.Keeper{age: 9, name: "Bo", tags: [vip: true]}],
      limits: Map.new(1..100, &{"limit #{&1}", {&1, :days}}),
      record: {:keeper, "Ann", 3, nil}
    }
  end

  # Elixir prints charlists as ~c"text" from 1.15 on; a dump's text always has that form.
  def text(term) do
    options = [limit: :infinity, printable_limit: :infinity]

    if Version.match?(System.version(), ">= 1.15.0"),
      do: inspect(term, options),
      else: inspect(term, [{:inspect_fun, &as_of_later_elixir/2} | options])
  end

  defp as_of_later_elixir(term, options) do
    if is_list(term) and term != [] and List.ascii_printable?(term),
      do: "~c" <> inspect(List.to_string(term), printable_limit: :infinity),
      else: Inspect.inspect(term, options)
  end

  # Two lines a term, its external format in base64 and its text: of those that another node can read.
  def oracle do
    for term <- atoms() ++ numbers() ++ texts() ++ lists() ++ maps(), text = text(term),
        byte_size(text) < 400, not large?(term),
        do: [Base.encode64(:erlang.term_to_binary(term)), "\n", text, "\n"]
  end

  defp large?(term), do: is_map(term) and map_size(term) > 32

  # Keeps the terms in this process's dictionary, and their texts in a file.
  def keep(path) do
    terms = Enum.with_index(all())
    for {term, index} <- terms, do: Process.put(index, term)
    File.write!(path, Enum.map(terms, fn {term, _} -> [text(term), "\n"] end))
  end
end
