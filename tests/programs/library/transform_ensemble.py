# graphs: 1
"""An ensemble of modules as one."""

import torch


from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)
MODELS = [torch.nn.Linear(3, 2) for _ in range(3)]
STATE = stack_module_state(MODELS)


def f(x):
    parameters, buffers = STATE

    def run(parameters, buffers, x):
        return functional_call(MODELS[0], (parameters, buffers), (x,))

    return vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)

def inputs():
    return (torch.randn(4, 3, requires_grad=True),)
