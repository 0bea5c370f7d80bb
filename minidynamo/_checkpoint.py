"""What graphs call in place of torch's operator for checkpoints, where a checkpoint draws random numbers or writes to tensors.

torch.ops.higher_order.tag_activation_checkpoint leaves it to a compiler behind it (AOTAutograd's partitioner) to give the second
computation the random numbers of the first, and to write once. A backend that runs the graph as it is has no such compiler.
"""

from typing import Any

import torch
from torch._higher_order_ops.wrap import tag_activation_checkpoint
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint


def checkpoint_impure(body: torch.fx.GraphModule, *operands: Any, **settings: Any) -> Any:
    """Runs `body(*operands)` as torch.utils.checkpoint.checkpoint runs the program's own function.

    Arguments:
        body: the graph of what the program gave to the checkpoint. `body.meta["written_operands"]` has the positions of
            operands that it writes to, such as a norm's running statistics.
        operands: its inputs, tensors of any shapes.
        settings: keywords of torch.utils.checkpoint.checkpoint.

    Returns:
        What `body` returns: a tuple of tensors.
    """
    if _get_current_dispatch_mode_stack():  # a compiler looks at what the graph does
        return tag_activation_checkpoint(body, *operands, **settings)
    context_fn = body.meta.get("_checkpoint_context_fn")
    if context_fn is not None:
        settings["context_fn"] = context_fn

    # A checkpoint watches its arguments for writes. In the program, what is written to is no argument, but a module's.
    written = {position: operands[position] for position in body.meta.get("written_operands", ())}

    # `forward`, since a call of the module would say on stderr where an error comes from.
    def run(*given: Any) -> Any:
        rest = iter(given)
        values = [written[i] if i in written else next(rest) for i in range(len(operands))]
        return body.forward(*values)

    arguments = [operand for i, operand in enumerate(operands) if i not in written]
    return checkpoint(run, *arguments, use_reentrant=False, **settings)
