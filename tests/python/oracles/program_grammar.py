"""The parts of generated programs: tables of templates, one template for each thing that a program may say.

A hole in a template stands for a value, a name or a target of some kind; program_generator.py fills it with draws and keeps
track of which names are bound to which kind. Forms of a hole:

    <vec>    an expression of that kind; <^vec> the same, where no name may be bound (`:=`)
    <*vec>   the same, inside something that runs later, never or many times; <%vec> inside a method of a leaf, which calls no method
    <vec!>   a name that can be read        <vec~>   a name of this function that may be bound anew (for `+=`)
    <vec=>   a target: an old or a new name <vec+>   a new name
    <vec->   a name of this block, unbound by the template
    <k:int>  a variable of the template itself, known in its <*...> holes and, for a statement with a body, there

Kinds: tensors `vec` of (2,), `three` of (3,), `mat` of (2, 2) and `num` of (); `int`, `float`, `bool`, `str`; `cond`, a bool
or a tensor; containers `ints`, `deque`, `whole` (a set), `table` (str to int), `tensors` (a list of vec), `pair` (vec, int);
objects `box` (a property, in-place methods), `leaf` (a hierarchy with super()), `wrap` (operators), `loose` (attributes through
`__getattr__` and `__setattr__`), `point` (a dataclass), `colour` (an enum), `error` (an exception that was caught); `leaf_class`,
a class derived from Leaf; `gives_vec`, `gives_int`, functions; `makes`, a generator function, `walk`, an iterator over ints,
`talk`, a generator that is sent to; `stack`, an ExitStack.

Programs end: loops are bounded, and nothing calls itself but `down`. They are deterministic.
"""

import re

import minidynamo

LETTERS = {
    "vec": "v", "three": "w", "mat": "m", "num": "s", "int": "n", "float": "r", "bool": "b", "str": "t", "ints": "l",
    "deque": "q", "whole": "u", "table": "d", "tensors": "ts", "pair": "p", "box": "o", "walk": "it",
    "gives_vec": "g", "gives_int": "h", "makes": "gen", "leaf": "lf", "wrap": "c", "loose": "z", "point": "pt",
    "colour": "co", "error": "error", "leaf_class": "Made", "talk": "tk", "stack": "st",
}  # fmt: skip


def templates(text: str) -> list[str]:
    """A table: templates stand apart by more than one space."""
    return re.split(r"\s{2,}", text.strip())


LITERALS = {
    "vec": ["torch.tensor([0.5, -1.0])", "torch.ones(2)", "torch.zeros(2)"],
    "three": ["torch.ones(3)", "torch.tensor([1.0, 0.25, -2.0])"],
    "mat": ["torch.eye(2)", "torch.ones(2, 2)", "torch.tensor([[0.5, -1.0], [2.0, 0.0]])"],
    "num": ["torch.tensor(0.5)", "torch.tensor(-2.0)"],
    "int": ["0", "1", "2", "3", "5", "-1"],
    "float": ["0.5", "-1.5", "2.0"],
    "bool": ["True", "False"],
    "str": ["'a'", "'b'", "'ef'", "''"],
    "ints": ["[1, 2]", "[]", "[3, 0, 2]", "[-1]"],
    "deque": ["collections.deque([1, 2])"],
    "whole": ["{1, 2}", "set()"],
    "table": ["{'a': 1}", "{'b': 2, 'a': 0}", "{}"],
    "tensors": ["[torch.ones(2), torch.zeros(2)]"],
    "pair": ["(torch.ones(2), 1)"],
    "box": ["Box(torch.ones(2))"],
    "leaf": ["Leaf(torch.ones(2))"],
    "wrap": ["Wrap(torch.ones(2))"],
    "loose": ["Loose()"],
    "point": ["Point(torch.ones(2))"],
    "colour": ["Colour.RED", "Colour.GREEN"],
    "error": ["Problem(1)"],
}

VALUES = {
    "vec": templates("""
        torch.sin(<vec>)   <vec>.cos()   <vec> + <vec>   <vec> - <num>   <vec> * <float>   <vec> * <int>   <mat> @ <vec>
        <vec>.clamp(-1, 1)   <vec>.tanh()   <mat>[0]   <mat>[:, 1]   <mat>.sum(0)   <mat>.diagonal()   <three>[1:]
        torch.where(<vec> > 0, <vec>, <vec>)   torch.stack([<num>, <num>])   <vec>.flip(0)   <vec>.view(2)   <vec>.detach()
        <vec>.clone()   <vec>.clone().mul_(<float>)   <box!>.tensor   <box!>.nested[1]['k']   <tensors!>[0]   <tensors!>[-1]
        <pair!>[0]   <box!>.scaled(<float>)   <box!>.scaled(by=<int>)   <box!>.step()   (<*vec> if <cond> else <*vec>)
        sum([<*vec> for <k:int> in <^ints>[:3]], <vec>)   down(<int> % 3, <vec>)   functools.reduce(torch.add, <tensors>, <vec>)
        next(<*vec> for <k:int> in [1, 2])   <mat>.view(4)[::3]
        functools.reduce(lambda <a:vec>, <b:vec>: <*vec>, <tensors>[:3], <vec>)   torch.cat([<vec>[:1], <vec>[1:]])   <gives_vec!>()
        <gives_vec!>(<int>)   (<vec+> := <vec>)   max(<tensors>[:3], key=lambda <a:vec>: <*int>)   <leaf>.pull()
        <leaf!>.pull(<int>)   <leaf!>.tensor   type(<leaf!>).of(<int>).pull()   Base.pull(<leaf!>, k=<int>)
        (<wrap> + <vec>).tensor   (<vec> + <wrap>).tensor   (-<wrap!>).tensor   <wrap!>(<int>)   sum(<wrap!>, <vec>)
        (<wrap!> @ <wrap>).tensor   <point!>.tensor   <point!>.moved(<float>)   dataclasses.replace(<point!>, tensor=<vec>).tensor
        spread(*<tensors>)   spread(<vec>, *<tensors>, scale=<int>)   spread(<vec>, **{'by': <int>})
        spread(*(<vec>, <vec>), **<table>)   shifted(t=<vec>)   frozen_sin(<vec>)   <vec>.detach().requires_grad_()   WEIGHT
        WEIGHT * <vec>   <vec>.double().float()   <mat>[1].view(1, 2).squeeze(0)   <mat>.t()[0]   <vec>.view(-1)[:]
        <mat>.view(-1)[1:3]   <vec>.expand(2)   <mat>.unbind(1)[0]   CACHE.get(<str>, <vec>)   getattr(<box!>, 'extra', <vec>)
        operator.add(<vec>, <vec>)
    """),
    "three": templates("""
        <three>.sin()   <three> * <float>   torch.cat([<vec>, <num>.reshape(1)])   torch.arange(3) * <num>   <three>.roll(1)
    """),
    "mat": templates("""
        <mat> + <mat>   <mat> @ <mat>   <mat>.t()   <mat>.tanh()   torch.outer(<vec>, <vec>)   <mat> * <num>   <mat> * <vec>
        torch.stack([<vec>, <vec>])   <mat>.clone()   <vec>.expand(2, 2)   <mat>.view(2, 2)
        <vec>.unsqueeze(0) + <vec>.unsqueeze(1)   <mat>.transpose(0, 1).contiguous()   <mat>.detach()
    """),
    "num": templates("""
        <vec>.sum()   <vec>[0]   <vec> @ <vec>   <mat>.mean()   <num> * <float>   <mat>[0, 1]   <vec>.max()   <num>.tanh()
        <three>.sum()   <num> + <int>   <num> - <num>   <vec>[<int> % 2]   <wrap!>[0]   <vec>.select(0, 1)
    """),
    "int": templates("""
        <int> + 1   (<int> + <int>) % 9   <int> - <int>   <int> * <int> % 7   <int> // <int>   -<int>   len(<ints>)   <ints!>[0]
        <ints!>[<int>]   <table!>.get('a', 0)   <table!>['b']   sum(<ints>)   max(<ints>, default=0)   len(str(<vec>.shape))
        <mat>.shape[0]   <vec>.dim()   <box!>.count   <box!>.doubled   <box!>.nested[0][0]   <box!>.shared   len(<deque!>)
        sum(<*int> for <k:int> in <^ints>[:3])   sum(numbers(<int>))   next(<walk!>, 0)   <gives_int!>()   <gives_int!>(<int>)
        (<int+> := <int>)   (<*int> if <cond> else <*int>)   <pair!>[1]   int(<bool>)   len(<str>)   int(torch.is_grad_enabled())
        sorted(<ints>)[0]   sum(<makes!>())   TOTAL   len(<box!>.items)   getattr(<box!>, 'extra_count', <int>)
        <ints!>.count(<int>)   len(HISTORY)   min(<int>, <int>)   <leaf!>.size   <leaf!>.weigh()   <leaf!>.weigh(<int>)
        <leaf!>.rate   <leaf!>.cached   <leaf!>.count   <leaf!>.twice(<int>)   Leaf.twice(<int>)   type(<leaf!>).made
        len(type(<leaf!>).__mro__)   len(<leaf!>.log)   <leaf_class!>.rate   <leaf_class!>.depth   len(<wrap!>)   [5, 6][<wrap!>]
        <loose!>.a   <loose!>.missing   <loose!>['a']   len(<loose!>.held)   getattr(<loose!>, 'b', <int>)   <point!>.count
        <point!>.total   len(dataclasses.fields(<point!>))   len({Pure(<int>), Pure(1)})   max(Pure(<int>, <int>), Pure(1)).a
        <colour>.value   <colour!>.next().value   len(<error!>.args)   <error!>.args[0]   getattr(<error!>, 'level', <int>)
        next(<talk!>, 0)   <talk!>.send(None)   <talk!>.send(<int>)   counted(<int>)   tally(<int>, *<ints>)
        tally(<int>, by=<int>)   tally(*<ints!>, **<table!>)   remembered(<int>)   hash(<str>) * 0   divmod(<int>, 3)[1]
        operator.itemgetter(0)(<ints!>)   Box.shared   len(vars(<box!>))   len(<leaf!>.__dict__)
        functools.reduce(operator.add, <ints>, <int>)   <vec>._version * 0   <mat>.stride(0)   <vec>.storage_offset()
        len(<str>.split('-'))   int('%d' % <int>)   Flag.B.value   (Flag.A | Flag.B).value
    """),
    "float": templates("""
        <float> * 0.5   float(<int>)   <int> / 2   math.sin(<float>)   -<float>   round(<float>, 1)   <float> + <int>
    """),
    "bool": templates("""
        <int> > <int>   <int> == <int>   <int> in <ints>   'a' in <table!>   not <ints>   <ints!> is <ints!>   <vec!> is <vec!>
        0 < <int> < 3   <vec>.shape[0] == 2   isinstance(<int>, int)   <bool> and <*bool>   <bool> or <*bool>   not <bool>
        <str> < <str>   <vec>.requires_grad   len(<ints>) > 2   hasattr(<box!>, 'extra')   any(<*bool> for <k:int> in <^ints>[:3])
        <ints!> == <ints!>   <box!>.tensor is <vec!>   <int> in <whole!>   isinstance(<leaf!>, Extra)   isinstance(<box!>, Base)
        <leaf!>.tensor is <vec!>   <wrap!> == <wrap>   <wrap!> < <wrap>   bool(<wrap!>)   <int> in <wrap!>
        hasattr(<loose!>, <str>)   'a' in <loose!>   <colour> is Colour.RED   <colour> == <colour>   <point!> == <point>
        Pure(<int>) < Pure(<int>)   callable(<gives_int!>)   isinstance(<error!>, LookupError)   <error!>.__cause__ is None
        <error!>.__context__ is not None   <vec>.is_leaf   issubclass(<leaf_class!>, Leaf)   type(<leaf!>) is Leaf
        'cached' in vars(<leaf!>)   <vec>.is_contiguous()   <vec!>.grad is None   torch.is_grad_enabled()   <vec>.grad_fn is None
        'log' in <leaf!>.__dict__   all(<*bool> for <k:str> in <table!>)   <vec>.dtype is torch.float32   <str> in <table!>
        <str>.startswith(<str>)   isinstance(<ints!>, (list, tuple))
    """),
    "str": templates("""
        <str> + 'c'   f'{<int!>}-{<str!>}'   str(<int>)   <str>.upper()   <str>[:2]   'n%d' % <int>   type(<vec>).__name__
        '-'.join(str(<*int>) for <k:int> in <^ints>[:3])   f'{<float!>:.2f}'   ('y' if <bool> else <*str>)
        '{:>3}|{!r}'.format(<int>, <str>)   f'{<int!>:03d}{<str!>!r:>5}'   '%s:%r' % (<int>, <str>)   <colour>.name   str(<colour>)
        repr(<wrap!>)   str(<error!>)   type(<error!>).__name__   type(<leaf!>).__name__   f'{<point!>.count=}'   f'{<ints!>}'
        str(<table!>)   repr(<leaf!>)   <str>.replace('p', <str>)   '{a}'.format(**{'a': <int>})   <str>.join(['p', 'q'])
        <gives_int!>.__name__   format(<int>, '>4')   f'{<wrap!>:>6}'   <leaf_class!>.__qualname__
    """),
    "ints": templates("""
        <ints> + [<int>]   [<*int> for <k:int> in <^ints>[:3]]   [<*int> for <k:int> in <^ints>[:3] if <*bool>]
        list(range(<int> % 4))   sorted(<ints>, reverse=<bool>)   sorted(<ints>, key=lambda <k:int>: <*int>)   <ints>[1:]
        list(<ints>)   list(map(lambda <k:int>: <*int>, <ints>[:3]))   [*<ints>, <int>]   <box!>.items   list(<table!>.values())
        list(<deque!>)   sorted(<whole!>)   list(reversed(<ints>))   list(<makes!>())   [<*int> for <k:str> in <table!>]
        [<k> + 1 for <k:int> in <^ints>]   list(itertools.islice(<walk!>, 2))   list(numbers(<int>))
        (<*ints> if <cond> else <*ints>)   <leaf!>.log   <point!>.items   list(<loose!>.held.values())
        [<c>.value for <c:colour> in Colour]   list(itertools.islice(<talk!>, 2))   list(chained(<int> % 3))
        [len(<a>.shape) for <a:vec> in <wrap!>]   [<*int> for <k:int> in <^ints>[:2] for <i:int> in range(2)]
        list(filter(lambda <k:int>: <*bool>, <ints>[:3]))   list(itertools.accumulate(<ints>))   list(zip(<ints>, <ints>))[:0]
        list(dataclasses.asdict(Pure(<int>)).values())   sorted(<ints>, key=operator.neg)
        list(itertools.chain(<ints>, numbers(<int>)))   list(dict.fromkeys(<ints>))
    """),
    "deque": ["collections.deque(<ints>)", "collections.deque(<ints>, maxlen=2)"],
    "whole": ["{<int>, <int>}", "set(<ints>)", "<whole> | {<int>}", "{<*int> for <k:int> in <^ints>[:3]}", "<whole> - {<int>}"],
    "table": templates("""
        {'a': <int>, 'c': <int>}   dict(<table!>)   {**<table!>, 'b': <int>}   <table> | <table>   dict(a=<int>, **{'b': <int>})
        {<*str>: <*int> for <k:int> in <^ints>[:3]}   {<k>: <i> + 1 for <k:str>, <i:int> in <table!>.items()}
        dict(zip('ab', <ints>))
    """),
    "tensors": templates("""
        [<vec>, <vec>]   [<*vec> for <k:int> in range(2)]   <tensors> + [<vec>]   list(<mat>)   [*<mat>.unbind(1)]
        list(<wrap!>) and [<vec>]
    """),
    "pair": ["(<vec>, <int>)", "Row(<vec>, <int>)", "Row(<vec>, count=<int>)", "Row(<vec>, 1)._replace(count=<int>)"],
    "box": ["Box(<vec>)", "Box(<vec>, <ints>)"],
    "leaf": templates("""
        Leaf(<vec>)   Leaf(<vec>, <int>)   <leaf_class!>(<vec>)   <leaf_class!>.of(<int>)   Leaf.of(count=<int>)   <leaf!>.twin()
    """),
    "wrap": ["Wrap(<vec>)", "<wrap> + <wrap>", "<wrap> + <vec>", "<vec> + <wrap>", "-<wrap>"],
    "loose": ["Loose()"],
    "point": ["Point(<vec>)", "Point(<vec>, <int>)", "Point(<vec>, items=<ints>)", "dataclasses.replace(<point!>, count=<int>)"],
    "colour": ["Colour(<int> % 2 + 1)", "Colour['RED']", "<colour!>.next()"],
    "error": ["Worse(<int>, <str>)", "Problem(<int>)"],
}

# Values that no graph can hold: the trace ends there.
BREAKING_VALUES = {
    "vec": templates("""
        apart(<vec>)   <vec> * <num>.item()   torch.tensor(<vec>.tolist())   max(<tensors>, key=lambda <a:vec>: <a>.sum())
    """),
    "int": ["int(<num>.clamp(-3, 3).item())", "apart(<int>)", "(print(<int>) or <int>)"],
    "float": ["<num>.item()", "<vec>.tolist()[0]"],
    "bool": ["bool(<num> > 0)", "(<vec> > 0).any().item()", "<vec>.tolist()[0] > 0"],
    "str": ["('+' if <num> > 0 else '-')"],
    "ints": ["[int(<a>) for <a:float> in <^vec>.clamp(-3, 3).tolist()]"],
    "num": ["torch.tensor(<num>.item())"],
}
TENSOR_CONDITIONS = templates("""
    <num> > 0   (<vec> > 0).any()   <vec>[0] < <vec>[1]   not <num> > 0   <bool> and <num> < <float>   <num> > 0 or <*bool>
""")

BINDINGS = (
    ["<vec=> = <vec>"] * 6
    + ["<int=> = <int>"] * 4
    + templates("""
    <mat=> = <mat>   <num=> = <num>   <three=> = <three>   <float=> = <float>   <bool=> = <bool>   <str=> = <str>   <ints=> = <ints>
    <ints=> = <ints!>   <vec=> = <vec!>   <deque=> = <deque>   <whole=> = <whole>   <table=> = <table>   <table=> = <table!>
    <tensors=> = <tensors>   <pair=> = <pair>   <box=> = Box(<vec>)   <box=> = <box!>   <int~> += <int>   <str~> += <str>
    del <vec->   del <int->   <int=>, *<ints=> = <ints>   <vec=>, <int=> = <pair>   *<tensors=>, <vec=> = <mat>
    (<vec=>, <int=>), <int=> = <pair>, <int>   <vec=> = <vec=> = <vec>   <vec=>, <vec=> = <tensors>
    <gives_vec+> = lambda <k:int>=<int>: <*vec>   <gives_int+> = lambda <k:int>=<int>: <*int>   <walk+> = iter(<ints>)
    <walk+> = numbers(<int>)   <walk+> = <makes!>()   <walk+> = (<*int> for <k:int> in <^ints>[:3])
    <walk+> = map(lambda <k:int>: <*int>, <ints>)   <leaf=> = <leaf>   <leaf=> = <leaf!>   <wrap=> = <wrap>   <loose=> = Loose()
    <point=> = <point>   <colour=> = <colour>   <gives_vec+> = functools.partial(shifted, <vec>)
    <gives_vec+> = functools.partial(shifted, <vec>, by=<int>)   <gives_vec+> = <leaf!>.pull   <gives_int+> = <leaf!>.weigh
    <gives_int+> = functools.partial(counted)   <gives_int+> = counted   <gives_int+> = <leaf_class!>.twice
    <talk+> = talks(<int> % 4)   <talk+> = chained(<int> % 3)   del <talk->   del <leaf->   del <box->   del <error->
    <leaf_class+> = type('Made', (Leaf,), {'rate': <int>})   <leaf_class+> = <leaf_class!>   <error+> = <error>
    <vec=> = <vec>.detach().requires_grad_()   <vec=> = <vec>.clone()   <wrap~> += <vec>   <vec+> = <vec!>.view(-1)
    <vec+> = <mat!>[0]   <vec+> = <mat!>[:, 1]   <mat+> = <mat!>.t()   <vec+> = <vec!>.detach()   <vec+> = <mat!>.view(4)[1:3]
    <num+> = <vec!>[0]   <vec=>, <int=>, *<ints=> = <vec>, <int>, <int>   <walk+> = zip(<ints>, <ints>)
""")
)
IN_PLACE = templates("""
    <vec~> += <vec>   <vec!>.mul_(<float>)   <vec!>.add_(<vec>)   <vec!>[0] = <num>   <vec!>[<int> % 2] = <float>
    <mat!>[1] = <vec>   <mat!>[:, 0] += <vec>   <mat!>.t_()   <vec!>.copy_(<vec>)   <vec!>.zero_()   <box!>.tensor.add_(1)
    <box!>.tensor[1] = <float>   <tensors!>[0].neg_()   <box!>.tensor *= <float>   torch.cos(<vec>, out=<vec!>)   <vec!>[0] += <num>
    <vec!>.view(-1).add_(<vec>)   <mat!>[:, 1].mul_(<float>)   <mat!>.t()[0].add_(<vec>)   <mat!>.view(4)[1:3] = <vec>
    <mat!>.diagonal().zero_()   <mat!>[0][1] = <num>   <mat!>[0].view(2)[1:].mul_(<float>)   <mat~> *= <num>
    <mat!>.unbind(0)[1].sub_(<vec>)   <vec!>.unsqueeze(0).t()[1] -= <num>   <vec!>.detach().add_(1)   <vec!>.data.mul_(2)
    WEIGHT.add_(<vec>)   WEIGHT[0] = <num>   WEIGHT.view(2)[1:] += 1   <leaf!>.tensor.mul_(<float>)   <leaf!>.tensor[0] = <num>
    <wrap!>.tensor.add_(<num>)   <mat!>.select(1, 0).copy_(<vec>)   <mat!>[<vec> > 0] = <float>
    <vec!>.index_fill_(0, torch.tensor([0]), <float>)   <mat!>.fill_diagonal_(<float>)   CACHE[<str>] = <vec!>.view(2)[:]
    <vec!>.set_(<vec>.clone())   <vec!>.clamp_(max=<float>)   <point!>.tensor[1:] = <num>   <vec!>.masked_fill_(<vec> > 0, <float>)
    <vec!>[:1], <vec!>[1:] = <num>, <num>   <tensors!>[0][0], <int=> = <num>, <int>   <vec!>.requires_grad_()
""")
CONTAINERS = templates("""
    <ints!>.append(<int>)   <ints!>[0] = <int>   <ints!>.pop()   <ints!>.insert(0, <int>)   <ints!>.extend([<int>, <int>])
    <ints!>.sort()   <ints!>.reverse()   del <ints!>[0]   <ints!>[1:] = [<int>]   <ints!>.clear()   <ints~> += [<int>]
    <ints!>.remove(<int>)   <table!>['a'] = <int>   <table!>[<str>] = <int>   <table!>['a'] += <int>   <table!>.clear()
    <table!>.pop('b', None)   del <table!>['a']   <table!>.update(c=<int>)   <int=> = <table!>.setdefault('d', <int>)
    <deque!>.append(<int>)   <deque!>.appendleft(<int>)   <deque!>.rotate(1)   <int=> = <deque!>.popleft()   <int=> = <ints!>.pop(0)
    <whole!>.add(<int>)   <whole!>.discard(<int>)   <tensors!>.append(<vec>)   <tensors!>[0] = <vec>   <vec=> = <tensors!>.pop()
    <deque!>.extend(<ints>)   <whole!>.update(<ints>)   <table~> |= <table>   <ints!>[<int>] += <int>   <ints!>[:] = <ints>
    <table!>.update(<table>)   <int=> = <table!>.pop('a')   <ints!>[::2] = [<int>]   <deque!>[0] = <int>   <table!>.popitem()
    <whole~> &= <whole>   del <ints!>[<int>:]
""")
OBJECTS = templates("""
    <box!>.count = <int>   <box!>.count += <int>   <box!>.doubled = <int>   <box!>.tensor = <vec>   <box!>.extra = <vec>
    del <box!>.extra   <box!>.items.append(<int>)   <box!>.nested[0][0] = <int>   <box!>.nested[1]['k'] = <vec>
    <box!>.items = <ints>   setattr(<box!>, 'extra_count', <int>)   <box!>.tensor, <box!>.count = <vec>, <int>   Box.shared = <int>
    <leaf!>.count += <int>   <leaf!>.rate = <int>   type(<leaf!>).rate = <int>   Base.rate = <int>   Leaf.rate += <int>
    <leaf!>.tensor = <vec>   del <leaf!>.rate   del <leaf!>.cached   <leaf!>.log = <ints>   <leaf!>.pull = lambda <k:int>=1: <%vec>
    Leaf.weigh = lambda self, <k:int>=1: <%int>   type(<leaf!>).twice = staticmethod(lambda <k:int>: <%int>)
    <leaf!>.__class__ = <leaf_class!>   <loose!>.a = <int>   <loose!>.b = <int>   del <loose!>.a   <loose!>['b'] = <int>
    <loose!>.a += <int>   <leaf_class!>.rate = <int>   <point!>.count = <int>   <point!>.items.append(<int>)
    <point!>.tensor = <vec>   <wrap!>[0] = <int>   <wrap!>.tensor = <vec>   <error!>.level = <int>   <error!>.add_note(<str>)
    Pure(<int>).a = <int>   <leaf!>.__dict__['count'] = <int>   <leaf!>.__dict__.update(count=<int>)   vars(<box!>)['count'] = <int>
    object.__setattr__(<box!>, 'count', <int>)   delattr(<box!>, 'count')   <box!>.self = <box!>
""")
GLOBALS = templates("""
    TOTAL += <int>   TOTAL = <int>   HISTORY.append(<int>)   HISTORY[0] = <int>   CACHE[<str>] = <vec>   CACHE.pop('a', None)
    WEIGHT = <vec>   CACHE.setdefault(<str>, <vec>)   globals()['TOTAL'] = <int>   del HISTORY[0]
""")
BREAKING_STATEMENTS = [
    *("print(<int>)", "print(<str>, <int>)", "<float=> = <num>.item()", "<int=> = apart(<int>)", "<vec=> = apart(<vec>)"),
    *("change_apart(<ints!>)", "<box!>.count = int(<vec>.sum().clamp(-3, 3).item())", "print(<box!>.count, <ints!>)"),
    *("if <vec!>.requires_grad and <vec!>.is_leaf:\n    <vec=>, = torch.autograd.grad((<vec!> * <vec>).sum(), <vec!>)",),
    *(["minidynamo.graph_break()"] * 3 if hasattr(minidynamo, "graph_break") else []),
]
TALKS = templates("""
    <int=> = <talk!>.send(<int>)   <talk!>.throw(Problem(<int>))   <talk!>.close()   <talk!>.throw(ValueError)
    <int=> = next(<talk!>)   <int=> = next(<walk!>)   <stack!>.enter_context(noted(<ints!>))
    <stack!>.callback(<ints!>.append, <int>)   <stack!>.close()   <stack!>.push(Quiet())
""")
ENDINGS = [
    *("if <cond>:\n    raise Problem(<int>)", "assert <cond>, <str>", "if <cond>:\n    return <result>"),
    *("if <cond>:\n    raise Worse(<int>, <str>)", "if <cond>:\n    raise <error!>", "if <cond>:\n    raise Problem from <error!>"),
]
YIELDS = [
    *("yield <int>", "yield <int>", "<int=> = (yield <int>) or 0", "yield from <ints>", "yield from numbers(<int>)"),
    *("try:\n    yield <int>\nfinally:\n    HISTORY.append(<int>)", "with noted(<ints!>) as <k:int>:\n    yield <k>"),
    *("if <cond>:\n    return", "try:\n    yield <int>\nexcept Problem:\n    yield <int>"),
]

FOR_HEADERS = templates("""
    for <k:int> in range(<int> % 4):   for <k:int> in <ints!>:   for <i:int>, <k:int> in enumerate(<ints!>):
    for <k:int> in <ints>[:3]:   for <k:str>, <i:int> in <table!>.items():   for <k:int>, <a:vec> in zip(<ints>[:3], <tensors>):
    for <a:vec> in <tensors!>:   for <a:vec> in <mat>:   for <k:int> in sorted(<whole!>):   for <k:int> in <deque!>:
    for <k:int> in numbers(<int>):   for <k:int> in <makes!>():   for <k:int>, <i:int> in zip(<walk!>, range(3)):
    for <k:int> in reversed(<ints>):   for <k:num> in <wrap!>:   for <c:colour> in Colour:   for <k:int> in <talk!>:
    for <k:int> in talks(<int> % 4):   for <k:int>, *<l:ints> in [<ints>, (<int>, <int>)]:   for <lf:leaf> in (<leaf>, <leaf>):
    for <k:int> in chained(<int> % 3):
""")
WITH_HEADERS = templates("""
    with torch.no_grad():   with Noted(<ints!>):   with noted(<ints!>) as <k:int>:   with torch.enable_grad():
    with contextlib.suppress(Problem, IndexError):   with Noted(<ints!>), torch.no_grad():   with noted(<box!>.items) as <k:int>:
    with Quiet() as <k:int>:   with mended(<ints!>):   with contextlib.ExitStack() as <s:stack>:
    with torch.set_grad_enabled(<bool>):   with Quiet() as <k:int>, Noted(<ints!>):   with contextlib.nullcontext(<int>) as <k:int>:
    with contextlib.closing(talks(3)) as <t:talk>:
""")
CAUGHT = [
    *("Problem", "(IndexError, KeyError)", "ZeroDivisionError", "Exception", "(Problem, ValueError)", "LookupError"),
    *("Worse", "(Worse, AttributeError)", "StopIteration", "(TypeError, StopIteration)", "ArithmeticError"),
]
# For each subject the patterns that may stand in its cases.
MATCHED = {
    "<ints>": ["[<k:int>, *<l:ints>]", "[]", "[_, <k:int>]", "(1 | 2 as <k:int>), *_"],
    "<table!>": ["{'a': <k:int>, **<d:table>}", "{'b': 2}", "{}"],
    "<point!>": ["Point(count=<k:int>)", "Point(<v:vec>, 1 | 2)", "Point(items=[<k:int>, *_])"],
    "<str>": ["'a' | 'b'", "str() as <t:str>", "<t:str> if <cond>"],
    "<int>": ["0", "1 | 2", "int(<k:int>) if <cond>", "-1", "bool()"],
    "<colour>": ["Colour.RED", "Colour(value=<k:int>)", "<c:colour> if <bool>"],
    "<leaf!>": ["Leaf(count=<k:int>, tensor=<v:vec>)", "Base(rate=2)", "Extra()"],
    "<pair>": ["(<v:vec>, int(<k:int>))", "Row(count=<k:int>)", "[_, 1]"],
    "(<int>, <ints>)": ["(0 | 1, [<k:int>, *<l:ints>])", "(<k:int>, [])", "(<k:int>, [_, _])"],
}

# Bodies of a class statement, as derived from Leaf.
CLASS_BODIES = [
    *("rate = <int>", "rate = <int>\nshared = [<int>]", "made = 0", "__slots__ = ()", "count: int = <int>"),
    "def pull(self, <k:int>=1):\n    return super().pull(<k>) + <%vec>",
    "def pull(self, <k:int>=1):\n    return <%vec> * self.count",
    "def weigh(self, <k:int>=<int>):\n    return super().weigh(<k>) - <%int>",
    "def __init__(self, tensor, count=<int>):\n    super().__init__(tensor, count)\n    self.count += <%int>",
    "@property\ndef size(self):\n    return super().size + <%int>",
    "@property\ndef rate(self):\n    return self.count + 1\n\n@rate.setter\ndef rate(self, value):\n    self.__dict__['count'] = value",
    "@staticmethod\ndef twice(<k:int>):\n    return <%int>",
    "@classmethod\ndef of(cls, count):\n    return cls(<%vec>, count)",
    "def __getattr__(self, name):\n    if name.startswith('_'):\n        raise AttributeError(name)\n    return len(name)",
    "def __setattr__(self, name, value):\n    super().__setattr__(name, value)\n    HISTORY.append(len(name))",
    "def __getattribute__(self, name):\n    return object.__getattribute__(self, name)",
    "def __repr__(self):\n    return f'<{self.count}>'",
    "@functools.cached_property\ndef cached(self):\n    return <%int>",
    "def __eq__(self, other):\n    return self.count == other.count",
    "def __len__(self):\n    return self.count % 3",
    "def __init_subclass__(cls):\n    cls.rate = <%int>",
    "def __del__(self):\n    pass",
]

# Changes before a call: statements of a function that makes its arguments, over those and the program's own globals.
CHANGES = templates("""
    items = []   items = None   items = [1] * 5   items = (1, 2)   items = ['a', 'b']   items = [True, 2.5]   items = box.items
    items.append(3)   items = [*items, 0]   items = list(items)   items.reverse()   items = [10**20, -1]   items = range(3)
    table = {'b': 1, 'a': 2}   table = {}   table['a'] = 2.5   table['a'] = 'text'   table['c'] = None   table.pop('a', None)
    table = None   table = collections.OrderedDict(table)   table = {**table, 'a': True}   table = {1: 2}   table['a'] = 7
    table = collections.defaultdict(int, table)   box.count = 5   box.count = 2.5   box.count = 'a'   box.count = None
    box.count = True   box.extra = x   box.extra_count = 4   del box.count   box.items = items   box.items = []
    box.nested[0][0] = 'a'   box.nested[0] = [4]   box.nested[1] = {'k': x}   box.tensor = x   box.tensor = y[0]
    box.step = lambda: x   box.scaled = lambda by: by   box = Box(x)   box = Box(y[1], [5])   Box.shared = 4   Box.shared = 'a'
    Box.scaled = lambda self, by: self.tensor - by   Box.doubled = property(lambda self: 5)   Box.step = lambda self: self.tensor
    del Box.shared   Box.__getattr__ = lambda self, name: 1   Box.__len__ = lambda self: 0   box.shared = 9   box = Leaf(x)
    box.tensor = torch.ones(2, dtype=torch.float64)   box.tensor = None   box.__dict__ = dict(box.__dict__)   leaf.count = 4
    leaf.count = 0.5   leaf.tensor = x   leaf.rate = 3   leaf.cached = 6   leaf.pull = lambda k=1: x   leaf.log = items
    leaf = Base(x)   Leaf.rate = 5   Base.rate = 6   Base.rate = 0.5   Leaf.weigh = lambda self, k=1: k
    Base.pull = lambda self, k=1: self.tensor.cos()   Leaf.size = 3   del Leaf.pull   del Extra.weigh
    Leaf.__getattr__ = lambda self, name: 2   Leaf.twice = staticmethod(lambda k: k)   Extra.pull = Box.step
    Leaf.__bases__ = (Base,)   leaf.__class__ = Base   Base.__eq__ = lambda self, other: True
    Leaf.of = classmethod(lambda cls, count: cls(WEIGHT, count))   leaf = box   TOTAL = 7   TOTAL = 2.5   TOTAL = 'a'   TOTAL = None
    HISTORY[:] = [3]   HISTORY = [5, 6, 7]   HISTORY = (1, 2)   HISTORY.append(0)   HISTORY.clear()   CACHE['a'] = x   CACHE.clear()
    CACHE['b'] = torch.ones(2)   WEIGHT = torch.ones(2)   WEIGHT = torch.ones(2, dtype=torch.float64)   WEIGHT = x   WEIGHT.add_(1)
    WEIGHT = torch.ones(2, requires_grad=True)   WEIGHT = torch.ones(3)   WEIGHT = y.detach()[:, 0]   WEIGHT = 2
    down = lambda count, t: t.cos()   numbers = lambda count: [count]   counted = lambda k: 3   shifted.__defaults__ = (4,)
    tally.__kwdefaults__ = {'by': 3}   talks = chained   Problem.__str__ = lambda self: 'other'
    Worse.__init__ = Exception.__init__   Noted.__enter__ = lambda self: None   Quiet.__exit__ = lambda self, *a: False
    Wrap.__add__ = lambda self, other: self   Wrap.__len__ = lambda self: 3   Wrap.__bool__ = lambda self: False   del Wrap.__eq__
    Wrap.__lt__ = lambda self, other: 1   Loose.__getattr__ = lambda self, name: 8   Loose.__setattr__ = object.__setattr__
    Point.count = 6   Point.moved = lambda self, by: self.tensor   Point.__post_init__ = lambda self: setattr(self, 'total', 9)
    Row.count = 3   noted = contextlib.nullcontext   mended = Noted   Pure.__lt__ = lambda self, other: True
    spread = lambda *tensors, **named: tensors[0]   frozen_sin = torch.cos   tally = lambda *a, **k: len(a)
    counted.__code__ = (lambda k=0: k + 5).__code__
""")
TENSOR_CHANGES = templates("""
    x = x.double()   x = torch.ones(3)   x = torch.ones(2, 3)[:, 1]   x = x.clone().requires_grad_()   x = y[0]   x = box.tensor
    x = y.detach()[:, 0]   x = torch.stack([x, x], -1)[..., 0]   x = None   x = 2.5   x = torch.nn.Parameter(x.clone())
    x = torch.ones(1)   x = y   x = torch.cat([x, x])[1:3]   x = x * 2   x.mul_(2)   x = leaf.tensor
    x = x.unsqueeze(0)   x = torch.ones((), dtype=torch.float32)   x = WEIGHT   y = y.double()   y = y.t()   y = y.detach()
    y = torch.eye(2)   y = torch.ones(2, 2, requires_grad=True)   y = torch.ones(3, 3)   y = torch.ones(2, 1).expand(2, 2)
    y = y * 1   y = torch.outer(x, x)   y = x   y = torch.nn.Parameter(y.detach().clone())   y = torch.ones(4).view(2, 2)
    x = x.clone(); x.seen = 1   x = x.detach()
""")  # fmt: skip

# Module-level definitions; a program has those that it names.
IMPORTS = [
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "torch",
    "typing",
    "minidynamo",
]
DEFINITIONS = {
    "TOTAL": "TOTAL = 3",
    "HISTORY": "HISTORY = [1, 2]",
    "CACHE": "CACHE = {}",
    "KEPT": "KEPT = []",
    "WEIGHT": "WEIGHT = torch.tensor([0.25, 2.0])",
    "Problem": "class Problem(Exception):\n    pass",
    "Worse": """class Worse(Problem):
    def __init__(self, level, *rest):
        super().__init__(level, *rest)
        self.level = level

    def __str__(self):
        return f"worse than {self.level}\"""",
    "Noted": """class Noted:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(7)

    def __exit__(self, kind, error, where):
        self.log.append(8 if kind is None else 9)""",
    "Quiet": """class Quiet:
    def __enter__(self):
        return 4

    def __exit__(self, kind, error, where):
        return kind is not None and issubclass(kind, (Problem, ArithmeticError))""",
    "noted": """@contextlib.contextmanager
def noted(log):
    log.append(4)
    try:
        yield len(log)
    finally:
        log.append(6)""",
    "mended": """@contextlib.contextmanager
def mended(log):
    try:
        yield
    except LookupError as error:
        log.append(len(error.args))
    except Problem as error:
        raise Worse(3) from error""",
    "apart": """@minidynamo.disable
def apart(value):
    HISTORY.append(len(HISTORY))
    return value + 1""",
    "change_apart": "@minidynamo.disable\ndef change_apart(log):\n    log.append(len(log))",
    "numbers": "def numbers(count):\n    for k in range(count % 4):\n        yield k * 2",
    "talks": """def talks(limit):
    log = 0
    try:
        for k in range(limit):
            try:
                got = yield k + log
                log += got or 0
            except Problem as error:
                yield len(error.args)
        return log
    finally:
        HISTORY.append(log)""",
    "chained": "def chained(limit):\n    got = yield from talks(limit)\n    yield got\n    yield from [got, limit]",
    "down": "def down(count, t):\n    return t if count <= 0 else down(count - 1, t.sin())",
    "shifted": "def shifted(t, by=1):\n    return t + by",
    "spread": """def spread(first, *others, scale=1, **named):
    for other in others:
        first = first + other * scale
    return first - len(named)""",
    "tally": "def tally(*values, by=1, **named):\n    return sum(values) * by + len(named)",
    "counted": "def counted(k=2):\n    return k * (TOTAL[:9] if isinstance(TOTAL, str) else TOTAL)",
    "remembered": "@functools.lru_cache(maxsize=2)\ndef remembered(k):\n    return k + 1",
    "frozen_sin": "@torch.no_grad()\ndef frozen_sin(t):\n    return t.sin()",
    "Row": "class Row(typing.NamedTuple):\n    tensor: torch.Tensor\n    count: int = 1",
    "Colour": """class Colour(enum.Enum):
    RED = 1
    GREEN = 2

    def next(self):
        return Colour(self.value % 2 + 1)""",
    "Flag": "class Flag(enum.Flag):\n    A = 1\n    B = 2",
    "Point": """@dataclasses.dataclass
class Point:
    tensor: torch.Tensor = dataclasses.field(compare=False)
    count: int = 1
    items: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.total = self.count + len(self.items)

    def moved(self, by):
        return self.tensor + by * self.total""",
    "Pure": "@dataclasses.dataclass(frozen=True, order=True)\nclass Pure:\n    a: int = 1\n    b: int = 2",
    "Wrap": """class Wrap:
    def __init__(self, tensor):
        self.tensor = tensor
        self.held = {}

    def __add__(self, other):
        return Wrap(self.tensor + getattr(other, "tensor", other))

    def __radd__(self, other):
        return Wrap(other + self.tensor)

    def __iadd__(self, other):
        self.tensor = self.tensor + other
        return self

    def __matmul__(self, other):
        return Wrap(self.tensor * other.tensor)

    def __neg__(self):
        return Wrap(-self.tensor)

    def __getitem__(self, k):
        return self.held[k] if k in self.held else self.tensor[k]

    def __setitem__(self, k, value):
        self.held[k] = value

    def __len__(self):
        return len(self.held) + 1

    def __iter__(self):
        yield from self.tensor.unbind()

    def __contains__(self, k):
        return k in self.held

    def __eq__(self, other):
        return isinstance(other, Wrap) and len(self) == len(other)

    def __lt__(self, other):
        return len(self) < len(other)

    def __index__(self):
        return len(self.held) % 2

    def __call__(self, k=1):
        return self.tensor * k

    def __repr__(self):
        return f"Wrap of {len(self)}"

    def __format__(self, spec):
        return format(len(self), spec)""",
    "Loose": """class Loose:
    def __init__(self):
        object.__setattr__(self, "held", {"a": 1})

    def __getattr__(self, name):
        if name in ("missing", "__deepcopy__"):
            return len(name)
        try:
            return self.__dict__["held"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.held[name] = value

    def __delattr__(self, name):
        del self.held[name]

    def __getitem__(self, name):
        return getattr(self, name)

    def __setitem__(self, name, value):
        setattr(self, name, value)

    def __contains__(self, name):
        return name in self.held""",
    "Box": """class Box:
    shared = 1

    def __init__(self, tensor, items=(2, 1)):
        self.tensor = tensor
        self.items = items if isinstance(items, list) else list(items)
        self.count = 2
        self.nested = [[1, 2], {"k": tensor}]

    @property
    def doubled(self):
        return self.count * 2

    @doubled.setter
    def doubled(self, value):
        self.count = value // 2

    def scaled(self, by):
        return self.tensor * by

    def step(self):
        self.count += 1
        return self.tensor + self.count""",
    "Base": """class Base:
    rate = 2
    made = 0
    depth = 0

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        cls.depth = cls.depth + 1

    def __init__(self, tensor, count=1):
        self.tensor = tensor
        self.count = count
        type(self).made += 1

    @classmethod
    def of(cls, count):
        return cls(torch.ones(2), count)

    @staticmethod
    def twice(k):
        return k * 2

    @property
    def size(self):
        return self.count + self.rate

    def pull(self, k=1):
        return self.tensor * (self.rate + k)

    def weigh(self, k=1):
        return self.count + k

    def twin(self):
        return type(self)(self.tensor, self.count)

    def __repr__(self):
        return f"{type(self).__name__} of {self.count}\"""",
    "Extra": "class Extra:\n    def weigh(self, k=1):\n        return super().weigh(k) * 2",
    "Leaf": """class Leaf(Extra, Base):
    def __init__(self, tensor, count=2):
        super().__init__(tensor, count)
        self.log = []

    @property
    def size(self):
        return super().size * 2

    @functools.cached_property
    def cached(self):
        return self.count * 3

    def pull(self, k=1):
        self.log.append(k)
        return super().pull(k).sin()""",
}
