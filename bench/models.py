"""The models that benchmarks, tests and the demo run on: transformers' own code, small, random weights, nothing fetched.

Each builder returns a module in evaluation mode and a function that makes its keyword arguments, labels included where a loss
is wanted. All are deterministic: the generators are seeded first.
"""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch


@dataclasses.dataclass
class Case:
    """A module and what to call it with.

    Attributes:
        module: in evaluation mode, dropout configured to 0 so that training steps compare.
        inputs: fresh keyword arguments for one call.
        labels: the keyword arguments that make the module compute a loss.
    """

    module: torch.nn.Module
    inputs: Callable[[], dict[str, Any]]
    labels: Callable[[], dict[str, Any]]


def _tokens(seed: int, batch: int = 2, length: int = 16, vocabulary: int = 128) -> torch.Tensor:
    return torch.randint(0, vocabulary, (batch, length), generator=torch.Generator().manual_seed(seed))


def bert(layers: int = 12) -> Case:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=128,
        hidden_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Case(
        BertForMaskedLM(config),
        lambda: {"input_ids": _tokens(1), "attention_mask": torch.ones(2, 16, dtype=torch.long)},
        lambda: {"labels": _tokens(2)},
    )


def gpt2(layers: int = 6) -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=128,
        n_positions=64,
        n_embd=64,
        n_layer=layers,
        n_head=4,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        use_cache=False,
        loss_type="ForCausalLM",  # else a logger is called at the first loss
    )
    return Case(GPT2LMHeadModel(config), lambda: {"input_ids": _tokens(3)}, lambda: {"labels": _tokens(3)})


def llama(layers: int = 6) -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        use_cache=False,
    )
    return Case(LlamaForCausalLM(config), lambda: {"input_ids": _tokens(4)}, lambda: {"labels": _tokens(4)})


def t5(layers: int = 3) -> Case:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=128,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=layers,
        num_decoder_layers=layers,
        num_heads=4,
        dropout_rate=0.0,
        use_cache=False,
        decoder_start_token_id=0,
    )
    return Case(
        T5ForConditionalGeneration(config),
        lambda: {"input_ids": _tokens(5), "decoder_input_ids": _tokens(6, length=8)},
        lambda: {"labels": _tokens(7, length=8)},
    )


def vit(layers: int = 6) -> Case:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=128,
        image_size=32,
        patch_size=8,
        num_labels=10,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return Case(
        ViTForImageClassification(config),
        lambda: {"pixel_values": torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(8))},
        lambda: {"labels": torch.tensor([3, 7])},
    )


MODELS: dict[str, Callable[[], Case]] = {"bert": bert, "gpt2": gpt2, "llama": llama, "t5": t5, "vit": vit}


def build(name: str) -> Case:
    """The case of that name, seeded, in evaluation mode."""
    torch.manual_seed(0)
    case = MODELS[name]()
    case.module.eval()
    return case
