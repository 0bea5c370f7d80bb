"""A number of the program's that changes, at everything that programs do with one: each use must return what eager returns.

A row is an expression of `i`. Each is captured in several forms: `i` is an argument, a size, an attribute, the number of a
mask's elements, a float, or a truth value, and the program may catch what the use raises.
"""

import contextlib
import importlib
import io
import re
import types
import warnings

import numpy
import pytest
import torch

import minidynamo

MODULES = """
array base64 bisect calendar collections colorsys contextlib copy ctypes dataclasses datetime decimal enum fractions
functools hashlib heapq inspect ipaddress itertools json math numbers operator os pickle random re statistics string
struct sys textwrap time types typing uuid warnings weakref zlib
""".split()  # noqa: SIM905

USES = r"""
"%d a %s" % (i,[1])
"%d" % (i,)
"%s %s" % (i, (i,2))
"%(a)d %(b)s" % {"a": i, "b":[i]}
b"%d" % (i,)
bytearray(b"%d") % (i,)
"%*d" % (i, 3)
"%s" % [i]
"%s" % {"a":i}
"%s" % {i:i}
(i,1) in {(4,1):1,(5,1):2}
{(i,1):2}
{(i,1)}
{(4,1):3,(5,1):7,(6,1):8}[(i,1)]
{4:3,5:7,6:8}[i]
[1,2,3,4,5,6,7,8][i]
[1,2,3,4,5,6,7,8][i:]
[1,2,3,4,5,6,7,8][1:i:2]
(1,2,3,4,5,6,7,8)[i]
"abcdefghij"[i]
"abcdefghij"[:i]
b"abcdefghij"[i]
[0]*i
(0,)*i
"a"*i
b"a"*i
[i]*3
[i]+[1]
(i,)+(1,)
[i] == [5]
(i,2) < (5,1)
[i] < [5]
(i,) == (5,)
(i,) != (5,)
{i} == {5}
{"a":i} == {"a":5}
{"a":i} != {"a":5}
{"a":i} | {"b":i}
{i}|{1}
{i} & {5,4}
{i} - {5}
{i} <= {5,6}
i in [4,5]
i in (4,5)
i in {4,5}
i in range(5)
i in range(i+1)
i in {4:1}
5 in (i,)
5 in [i,1]
(i,1) in [(4,1)]
f"{i}"
f"{i:>4}"
f"{i!r:>4}"
f"{(i,1)}"
f"{[i]}"
f"{i:{i}}"
f"{3:{i}}"
str((i,))
repr([i])
-i
~i
+i
not i
i ** 2
i ** -1
2 ** i
i ** i
2 ** -i
i // 3
i % 3
-i % 3
-i // 3
i % -3
7 % i
i / 3
i / 2.5
2.5 * i
i * 2.5
i + 1.0
i << 2
i >> 1
1 << i
i & 3
i | 8
i ^ 1
i @ 1
i + "a"
"a" + i
i + None
i + [1]
i < "a"
i < 5.5
5.5 > i
i == 5.0
i == "a"
i == None
i is None
i + 2**70
i * 2**70
i - 2**63
i < 2**70
i + 2j
i * 1j
i + True
i == True
True + i
divmod(i,3)
divmod(-i,3)
abs(-i)
pow(i,2)
pow(i,2,7)
pow(2,i,7)
int(i)
float(i)
bool(i)
complex(i)
round(i)
round(i,-1)
hash(i)
hash((i,1))
bin(i)
hex(i)
oct(i)
chr(i+60)
max(i,5)
min(i,5)
max([i,5])
sum([i,5])
sum((i,),i)
sorted([5,i])
sorted([i,5],reverse=True)
list(range(i))
len(range(i))
range(i)
range(i)[1]
range(1,i)[-1]
slice(i)
slice(1,i).indices(10)
[*range(i)]
isinstance(i,int)
type(i)
type(i) is int
i.bit_length()
i.to_bytes(2,"big")
i.real
i.imag
i.numerator
i.conjugate()
i.__add__(1)
i.__radd__(1)
i.__index__()
i.__lt__(5)
i.__class__
int.__add__(i,1)
int.__repr__(i)
i.as_integer_ratio()
math.sqrt(i)
math.gcd(i,10)
math.floor(i)
math.isqrt(i)
math.comb(i,2)
math.factorial(i)
math.prod([i,2])
math.fsum([i,2.5])
math.hypot(i,3)
math.isclose(i,5)
math.pow(i,2)
math.log(i)
math.log2(i)
math.ldexp(1.0,i)
operator.add(i,1)
operator.index(i)
operator.mod("%d",(i,))
operator.getitem([1,2,3,4,5,6,7,8],i)
operator.itemgetter(i)([1,2,3,4,5,6,7,8])
operator.contains([4,5],i)
functools.reduce(operator.add,[i,1,2])
functools.partial(operator.add,i)(2)
list(itertools.repeat(1,i))
list(itertools.islice(range(100),i))
list(itertools.accumulate([i,2]))
list(itertools.combinations(range(i),2))
list(itertools.chain([i],[2]))
list(itertools.product([i],[2]))
list(itertools.compress([i,2],[i,0]))
list(itertools.takewhile(lambda v: v<5,[i,2]))
list(zip([i],[2]))
list(enumerate([7],i))
list(map(str,[i]))
list(map(operator.add,[i],[2]))
list(filter(None,[i,0]))
any([i,0])
all([i,0])
dict(a=i)
dict([(i,1)])
{i:1}
{i:1}.get(5)
{5:1}.get(i)
{"a":i}["a"]
{**{"a":i}}
set([i,5])
frozenset([i])
tuple([i])
list((i,))
bytes([i])
bytes(i)
bytearray(i)
array.array("i",[i])
struct.pack("i",i)
struct.pack("<%dB" % i, *range(i))
json.dumps([i])
json.dumps({"a":i})
"{} {}".format(i,[i])
"{0:d}".format(i)
"{a:d}".format(a=i)
"{a}".format_map({"a":i})
",".join([str(i)])
"abc".ljust(i)
"abc".center(i,"*")
"abc".zfill(i)
"a,b,c,d,e,f,g".split(",",i)
"aaaaaaa".replace("a","b",i)
"abcdefgh".find("g",i)
"abcdefgh".startswith("f",i)
[1,2,3,4,5,6,7].index(7,i)
[1,2,3,4,5,6,7].pop(i)
[4,5].index(i)
[4,5].count(i)
[1,2].insert(i,3)
(4,5).index(i)
(4,5).count(i)
collections.Counter([i,5])
collections.deque([i,5],maxlen=i)
collections.OrderedDict(a=i)
collections.namedtuple("P","a b")(i,2)
fractions.Fraction(i,3)
decimal.Decimal(i)
datetime.timedelta(days=i)
datetime.date(2020,1,i)
time.gmtime(i)
random.Random(i).random()
random.Random(3).sample(range(10),i)
copy.copy([i])
copy.deepcopy([i])
pickle.dumps([i])
string.Template("$a").substitute(a=i)
textwrap.shorten("a b c d e f g", i+5)
bisect.bisect([1,3,5,7],i)
heapq.nlargest(i,range(9))
heapq.nsmallest(2,[i,3,4])
statistics.mean([i,2])
types.SimpleNamespace(a=i)
types.SimpleNamespace(a=i).a
type("T",(),{"a":i})().a
getattr(types.SimpleNamespace(a=i),"a")
re.match("a{%d}"%i,"aaaaaa")
re.sub("a","b","aaaaaaa",i)
memoryview(b"abcdefghi")[i]
memoryview(b"abcdefghi")[:i].tobytes()
ctypes.c_int(i).value
numpy.arange(i)
numpy.zeros(i)
numpy.zeros((i,2)).shape
numpy.array([i,2])
numpy.array(i)
numpy.int64(i)
numpy.float32(i)
numpy.arange(9)[i]
numpy.arange(9)[:i]
numpy.arange(9)*i
numpy.full(2,i)
torch.Size([i,2])
torch.Size([i,2]).numel()
torch.Size((i,)) == (5,)
torch.zeros(i).shape
torch.zeros(i,2).shape
torch.zeros([i,2]).shape
torch.full((2,),i)
torch.tensor(i)
torch.tensor([i,2])
torch.tensor([[i],[2]])
torch.arange(i)
torch.arange(9)[i]
torch.arange(9)[:i]
torch.arange(9)[i:]
torch.arange(9)[(i,)]
torch.arange(9)[[i,1]]
torch.arange(9)[None,i]
torch.arange(9) == i
torch.arange(9) * i
i * torch.arange(9)
i ** torch.arange(3)
torch.arange(3) ** i
i - torch.arange(3)
i / torch.arange(1,3)
i // torch.arange(1,3)
i % torch.arange(1,3)
i << torch.arange(1,3)
i & torch.arange(1,3)
torch.arange(8).view(2,-1).repeat(1,i)
torch.arange(8).roll(i)
torch.arange(8).narrow(0,i,1)
torch.arange(8).split(i)
torch.arange(8).chunk(i)
torch.arange(8).unfold(0,i,1)
torch.arange(8).expand(i,8).sum()
torch.linspace(0,1,i)
torch.eye(i)
torch.randn(i).shape
torch.Tensor([i,2])
torch.Tensor(i).shape
torch.nn.functional.pad(torch.ones(2),(i,1))
torch.nn.functional.one_hot(torch.tensor(1),i)
torch.sum(torch.ones(2))*i
torch.clamp(torch.arange(9),max=i)
torch.where(torch.arange(9)>i,i,0)
torch.topk(torch.arange(9),i).values
torch.sym_int(i)
torch.sym_max(i,5)
torch.iinfo(torch.int32).max - i
x.new_zeros(i)
x.new_tensor([i])
x.new_full((2,),i)
x.add(i)
x.add(1,alpha=i)
x.mul(i)
x.fill_(i)
x.repeat(i)
x[0].item() + i
(lambda *a: a)(i,2)
(lambda **k: k)(a=i)
(lambda a=i: a)()
[j*i for j in range(3)]
{j:i for j in range(3)}
{j*i for j in range(3)}
sum(j*i for j in range(3))
[i for _ in range(2)]
(i if i > 4 else 0)
(i and 3)
(i or 3)
i < 5 < 10
1 < i < 6
os.path.join("a",str(i))
print(i)
print("a %d" % (i,))
warnings.warn("a %d" % (i,))
sys.intern(str(i))
ValueError(i).args
str(ValueError(i))
str(ValueError(i,2))
KeyError(i).args
inspect.signature(lambda a: a).bind(i).args
enum.IntEnum("E","A B C D E F G")(i)
dataclasses.make_dataclass("D",["a"])(i)
dataclasses.asdict(dataclasses.make_dataclass("D",["a"])(i))
dataclasses.replace(dataclasses.make_dataclass("D",["a"])(1),a=i)
contextlib.nullcontext(i).__enter__()
weakref.WeakValueDictionary().get(i)
collections.defaultdict(int)[i]
collections.ChainMap({"a":i})["a"]
typing.cast(int,i)
numbers.Number.__instancecheck__(i)
isinstance(i,numbers.Integral)
isinstance(i,(float,str))
issubclass(type(i),int)
callable(i)
id(i) == id(i)
hasattr(i,"node")
getattr(i,"node",3)
i.foo
i[0]
i()
len(i)
iter(i)
next(iter([i]))
ascii([i])
format(i,"d")
format(i,"x")
vars(types.SimpleNamespace(a=i))
eval("i",{"i":i})
exec("a=i",{"i":i})
base64.b64encode(bytes([i]))
zlib.crc32(bytes([i]),i)
hashlib.md5(bytes([i])).hexdigest()
uuid.UUID(int=i)
ipaddress.ip_address(i)
colorsys.rgb_to_hsv(i,2,3)
calendar.monthrange(2020,i)
calendar.isleap(i)
dir(i)[:3]
""".strip().splitlines()

ARGUMENT = """
def f(x, i):
    r = {use}
    return r, x + i
"""

CAUGHT = """
def f(x, source):
    i = {number}
    try:
        r = {use}
        return r, x + i
    except Exception as e:
        return e, x + i
"""


def count_of(number):
    return torch.tensor([1.0] * number + [0.0])


def held(number):
    return types.SimpleNamespace(n=number)


# Name -> the program, where its number comes from, and what makes the argument.
FORMS = {
    "argument": (ARGUMENT, "", lambda number: number),
    "argument, caught": (CAUGHT, "source", lambda number: number),
    "size": (CAUGHT, "source.shape[0]", torch.ones),
    "attribute": (CAUGHT, "source.n", held),
    "elements of a mask": (CAUGHT, "source.nonzero().shape[0]", count_of),
    "float": (CAUGHT, "source", lambda number: number + 0.5),
    "float of an attribute": (CAUGHT, "source.n + 0.5", held),
    "float of a size": (CAUGHT, "source.shape[0] * 0.5", torch.ones),
    "truth of a size": (CAUGHT, "source.shape[0] > 4", torch.ones),
}


def described(value):
    """A result in words: values, classes and dtypes, without addresses."""
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, BaseException):
        return type(value).__name__, str(value)
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(element) for element in value]
    return type(value).__name__, re.sub("0x[0-9a-f]+", "", repr(value))


def outcome(function, argument):
    """The result or exception of a call, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = described(function(torch.ones(2), argument))
        except Exception as error:
            result = "raised", described(error)
    return result, printed.getvalue()


@pytest.mark.parametrize("use", USES)
def test_use(use):
    names = {"torch": torch, "numpy": numpy} | {name: importlib.import_module(name) for name in MODULES}
    for form, (program, number, argument) in FORMS.items():
        scope = dict(names)
        exec(program.replace("{use}", use).replace("{number}", number), scope)
        optimized = minidynamo.compile(scope["f"], backend="eager")
        for value in (4, 5, 6, 7, 0, 1):
            assert outcome(optimized, argument(value)) == outcome(scope["f"], argument(value)), f"{form}, {value}"
