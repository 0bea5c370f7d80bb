"""The models of test_models_torch.py and test_models_transformers.py as programs for guard_mutation.py: small, and with a loss."""

import pathlib

PLAIN = """# graphs: 1
import sys
sys.path.insert(0, {here!r})
import test_models_torch as __models

f = __models.CASES[{name!r}][0]({arguments})
inputs = __models.CASES[{name!r}][1]
"""

TRANSFORMERS = """# graphs: 1
import sys
sys.path.insert(0, {bench!r})
import models as __models

__case = __models.MODELS[{name!r}](layers={layers})
f = __case.module.eval()
# With the other attention kernels these make a mask only where they find out that they are compiled: another program then.
f.set_attn_implementation("eager")

def inputs():
    return ()

def keywords():
    return __case.inputs() | __case.labels()
"""

PLAIN_MODELS = {"attention": "", "lstm": "", "resnet18": "width=2"}
LAYERS = {"bert": 1, "gpt2": 1, "llama": 1, "t5": 1, "vit": 2}


def write_programs(folder: pathlib.Path) -> list[pathlib.Path]:
    """A file for each model."""
    tests = pathlib.Path(__file__).parents[1]
    texts = {name: PLAIN.format(here=str(tests / "backends"), name=name, arguments=arguments) for name, arguments in PLAIN_MODELS.items()}
    for name, layers in LAYERS.items():
        texts[name] = TRANSFORMERS.format(bench=str(tests.parents[1] / "bench"), name=name, layers=layers)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [folder / f"{name}.py" for name in texts]
