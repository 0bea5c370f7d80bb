"""Models of transformers for bench/zoo.py: random weights, small sizes, nothing fetched, and what to call them with."""

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
    """Something to capture.

    Attributes:
        function: a module, a function, or a `Generation`.
        arguments: keyword arguments of a call, the same each time.
        gradients: whether a backward pass from the result belongs to it.
    """

    function: Any
    arguments: dict[str, Any]
    gradients: bool = False


CASES: dict[str, Callable[[], Case]] = {}


def tokens(batch: int = 2, length: int = 12, vocabulary: int = 128) -> torch.Tensor:
    return torch.randint(3, vocabulary, (batch, length), generator=torch.Generator().manual_seed(length))


def numbers(*size: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(len(size)))


TEXT = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**TEXT, "num_key_value_heads": 2}
SEQUENCES = {
    "vocab_size": 128,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
PICTURES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 32,
    "patch_size": 8,
}


def transformer(name: str, model: str, config: str, settings: dict[str, Any]) -> Any:
    import transformers

    module = getattr(transformers, model)(getattr(transformers, config)(**settings))
    return module.eval()


def add(name: str, model: str, config: str, settings: dict[str, Any], **arguments: Any) -> None:
    """A model, called with `arguments`; a callable among them makes a tensor."""

    def build() -> Case:
        made = {key: value() if callable(value) else value for key, value in arguments.items()}
        return Case(transformer(name, model, config, settings), made)

    CASES[name] = build


def add_training(name: str) -> None:
    """The same model as a training step, with dropout."""

    def build() -> Case:
        case = CASES[name]()
        assert isinstance(case.function, torch.nn.Module)
        case.function.train()
        case.gradients = True
        return case

    CASES[f"{name}, training"] = build


def add_generation(name: str, settings: dict[str, Any] | None = None) -> None:
    """Eight tokens of `generate()`, of which each step calls the captured module."""

    def build() -> Case:
        case = CASES[name]()
        module: Any = case.function
        forward = module.forward
        arguments = {key: value for key, value in case.arguments.items() if key not in ("labels", "use_cache", "decoder_input_ids")}

        def generate(compiled: Callable[..., Any], **given: Any) -> Any:
            module.forward = compiled
            try:
                return module.generate(**given, max_new_tokens=8, min_new_tokens=8, **(settings or {"do_sample": False}))
            finally:
                module.forward = forward

        return Case(Generation(forward, generate), arguments)

    CASES[f"{name}, generate"] = build


@dataclasses.dataclass
class Generation:
    """The captured function is not the function that is called, but one that it calls many times."""

    forward: Callable[..., Any]
    generate: Callable[..., Any]


def ones(*size: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.ones(*size, dtype=torch.long)


add("bert", "BertForMaskedLM", "BertConfig", TEXT, input_ids=tokens, attention_mask=ones(2, 12), labels=tokens)
add(
    "distilbert",
    "DistilBertForMaskedLM",
    "DistilBertConfig",
    {"vocab_size": 128, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    input_ids=tokens,
)
add("roberta", "RobertaForSequenceClassification", "RobertaConfig", TEXT, input_ids=tokens)
add("albert", "AlbertModel", "AlbertConfig", {**TEXT, "embedding_size": 16}, input_ids=tokens)
add("electra", "ElectraForPreTraining", "ElectraConfig", {**TEXT, "embedding_size": 16}, input_ids=tokens)
add(
    "deberta v2",
    "DebertaV2Model",
    "DebertaV2Config",
    {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    input_ids=tokens,
)
add("mpnet", "MPNetModel", "MPNetConfig", TEXT, input_ids=tokens)
add("longformer", "LongformerModel", "LongformerConfig", {**TEXT, "attention_window": 4}, input_ids=lambda: tokens(length=16))
add("big bird", "BigBirdModel", "BigBirdConfig", {**TEXT, "attention_type": "original_full"}, input_ids=tokens)
add(
    "reformer",
    "ReformerModel",
    "ReformerConfig",
    {
        "vocab_size": 128,
        "hidden_size": 32,
        "attention_head_size": 8,
        "num_attention_heads": 4,
        "feed_forward_size": 64,
        "axial_pos_shape": (4, 4),
        "axial_pos_embds_dim": (16, 16),
        "attn_layers": ["local", "local"],
        "local_attn_chunk_length": 4,
        "is_decoder": False,
        "max_position_embeddings": 16,
    },
    input_ids=lambda: tokens(length=16),
)
add(
    "funnel",
    "FunnelModel",
    "FunnelConfig",
    {"vocab_size": 128, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64},
    input_ids=tokens,
)
add(
    "xlnet",
    "XLNetLMHeadModel",
    "XLNetConfig",
    {"vocab_size": 128, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    input_ids=tokens,
)
add("modernbert", "ModernBertModel", "ModernBertConfig", {**TEXT, "cls_token_id": 1, "sep_token_id": 2}, input_ids=tokens)
add(
    "gpt2",
    "GPT2LMHeadModel",
    "GPT2Config",
    {"vocab_size": 128, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2},
    input_ids=tokens,
    labels=tokens,
)
add(
    "gpt neo",
    "GPTNeoForCausalLM",
    "GPTNeoConfig",
    {
        **{k: v for k, v in TEXT.items() if k not in ("num_hidden_layers", "num_attention_heads")},
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
    },
    input_ids=tokens,
)
add("gpt neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT, input_ids=tokens)
add(
    "gpt-j",
    "GPTJForCausalLM",
    "GPTJConfig",
    {"vocab_size": 128, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "bos_token_id": 1, "eos_token_id": 2},
    input_ids=tokens,
)
add("bloom", "BloomForCausalLM", "BloomConfig", {"vocab_size": 128, "hidden_size": 32, "n_layer": 2, "n_head": 4}, input_ids=tokens)
add(
    "opt",
    "OPTForCausalLM",
    "OPTConfig",
    {
        "vocab_size": 128,
        "hidden_size": 32,
        "ffn_dim": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "word_embed_proj_dim": 32,
    },
    input_ids=tokens,
)
add("llama", "LlamaForCausalLM", "LlamaConfig", GROUPED, input_ids=tokens)
add("mistral", "MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 8}, input_ids=tokens)
add("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**GROUPED, "head_dim": 8}, input_ids=tokens)
add("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**GROUPED, "head_dim": 8, "sliding_window": 8}, input_ids=tokens)
add("gemma3 text", "Gemma3ForCausalLM", "Gemma3TextConfig", {**GROUPED, "head_dim": 8, "sliding_window": 8}, input_ids=tokens)
add("phi3", "Phi3ForCausalLM", "Phi3Config", GROUPED, input_ids=tokens)
add(
    "falcon",
    "FalconForCausalLM",
    "FalconConfig",
    {"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True},
    input_ids=tokens,
)
add("mixtral", "MixtralForCausalLM", "MixtralConfig", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, input_ids=tokens)
add(
    "qwen3 moe",
    "Qwen3MoeForCausalLM",
    "Qwen3MoeConfig",
    {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "head_dim": 8},
    input_ids=tokens,
    output_router_logits=True,
)
add(
    "deepseek v3",
    "DeepseekV3ForCausalLM",
    "DeepseekV3Config",
    {
        **TEXT,
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "n_group": 2,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "q_lora_rank": 8,
        "kv_lora_rank": 8,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "first_k_dense_replace": 1,
    },
    input_ids=tokens,
)
add(
    "switch",
    "SwitchTransformersModel",
    "SwitchTransformersConfig",
    {
        "vocab_size": 128,
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 4,
        "num_experts": 4,
        "num_sparse_encoder_layers": 1,
        "num_sparse_decoder_layers": 1,
    },
    input_ids=tokens,
    decoder_input_ids=tokens,
    attention_mask=ones(2, 12),  # made up only where nothing compiles
)
add(
    "mamba",
    "MambaForCausalLM",
    "MambaConfig",
    {"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
    input_ids=tokens,
)
add(
    "mamba2",
    "Mamba2ForCausalLM",
    "Mamba2Config",
    {
        "vocab_size": 128,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "state_size": 8,
        "num_heads": 8,
        "head_dim": 8,
        "n_groups": 2,
        "chunk_size": 4,
    },
    input_ids=tokens,
)
add(
    "rwkv",
    "RwkvForCausalLM",
    "RwkvConfig",
    {"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32},
    input_ids=tokens,
)
add("bart", "BartForConditionalGeneration", "BartConfig", SEQUENCES, input_ids=tokens, labels=tokens)
add("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", SEQUENCES, input_ids=tokens, decoder_input_ids=tokens)
add("m2m 100", "M2M100ForConditionalGeneration", "M2M100Config", SEQUENCES, input_ids=tokens, decoder_input_ids=tokens)
add(
    "t5",
    "T5ForConditionalGeneration",
    "T5Config",
    {"vocab_size": 128, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    input_ids=tokens,
    labels=tokens,
)
add(
    "led",
    "LEDModel",
    "LEDConfig",
    {**SEQUENCES, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    input_ids=lambda: tokens(length=16),
    decoder_input_ids=tokens,
)
add("vit", "ViTForImageClassification", "ViTConfig", PICTURES, pixel_values=lambda: numbers(2, 3, 32, 32))
add(
    "swin",
    "SwinForImageClassification",
    "SwinConfig",
    {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "swin v2",
    "Swinv2Model",
    "Swinv2Config",
    {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "convnext",
    "ConvNextModel",
    "ConvNextConfig",
    {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2, "image_size": 32},
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "resnet",
    "ResNetForImageClassification",
    "ResNetConfig",
    {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"},
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "segformer",
    "SegformerForSemanticSegmentation",
    "SegformerConfig",
    {
        "num_encoder_blocks": 2,
        "depths": [1, 1],
        "sr_ratios": [2, 1],
        "hidden_sizes": [16, 32],
        "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2],
        "decoder_hidden_size": 32,
        "patch_sizes": [7, 3],
        "strides": [4, 2],
    },
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "detr",
    "DetrForObjectDetection",
    "DetrConfig",
    {
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "num_queries": 5,
        "use_timm_backbone": False,
        "use_pretrained_backbone": False,
        "backbone": None,
        "backbone_config": {
            "model_type": "resnet",
            "embedding_size": 16,
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "layer_type": "basic",
            "out_features": ["stage2"],
        },
    },
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "mask2former",
    "Mask2FormerModel",
    "Mask2FormerConfig",
    {
        "feature_size": 32,
        "mask_feature_size": 32,
        "hidden_dim": 32,
        "encoder_feedforward_dim": 32,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "num_attention_heads": 4,
        "dim_feedforward": 32,
        "num_queries": 5,
        "backbone_config": {
            "model_type": "swin",
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 1, 1, 1],
            "num_heads": [2, 2, 2, 2],
            "window_size": 4,
            "out_features": ["stage1", "stage2", "stage3", "stage4"],
        },
    },
    pixel_values=lambda: numbers(1, 3, 64, 64),
)
add(
    "clip",
    "CLIPModel",
    "CLIPConfig",
    {"text_config": TEXT, "vision_config": PICTURES, "projection_dim": 16},
    input_ids=tokens,
    pixel_values=lambda: numbers(2, 3, 32, 32),
    attention_mask=ones(2, 12),
)
add(
    "vit mae",
    "ViTMAEForPreTraining",
    "ViTMAEConfig",
    {
        **PICTURES,
        "decoder_hidden_size": 32,
        "decoder_num_hidden_layers": 1,
        "decoder_num_attention_heads": 4,
        "decoder_intermediate_size": 64,
    },
    pixel_values=lambda: numbers(2, 3, 32, 32),
)
add(
    "blip 2",
    "Blip2Model",
    "Blip2Config",
    {
        "vision_config": PICTURES,
        "qformer_config": {**TEXT, "encoder_hidden_size": 32, "cross_attention_frequency": 1},
        "text_config": {
            "model_type": "opt",
            "vocab_size": 128,
            "hidden_size": 32,
            "ffn_dim": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": 64,
            "word_embed_proj_dim": 32,
        },
        "num_query_tokens": 4,
        "image_token_index": 127,
    },
    pixel_values=lambda: numbers(2, 3, 32, 32),
    input_ids=lambda: torch.tensor([[127] * 4 + [5, 6, 7]] * 2),
)
add(
    "wav2vec2",
    "Wav2Vec2ForCTC",
    "Wav2Vec2Config",
    {
        "vocab_size": 32,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "conv_dim": [16, 16],
        "conv_stride": [5, 2],
        "conv_kernel": [10, 3],
        "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 2,
        "mask_time_prob": 0.0,
    },
    input_values=lambda: numbers(2, 400),
)
add(
    "hubert",
    "HubertModel",
    "HubertConfig",
    {
        "vocab_size": 32,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "conv_dim": [16, 16],
        "conv_stride": [5, 2],
        "conv_kernel": [10, 3],
        "num_feat_extract_layers": 2,
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 2,
    },
    input_values=lambda: numbers(2, 400),
)
add(
    "whisper",
    "WhisperForConditionalGeneration",
    "WhisperConfig",
    {
        **SEQUENCES,
        "num_mel_bins": 8,
        "max_source_positions": 16,
        "max_target_positions": 32,
        "suppress_tokens": None,
        "begin_suppress_tokens": None,
    },
    input_features=lambda: numbers(2, 8, 32),
    decoder_input_ids=tokens,
)
add(
    "speech t5",
    "SpeechT5ForTextToSpeech",
    "SpeechT5Config",
    {
        "vocab_size": 128,
        "hidden_size": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "num_mel_bins": 8,
        "speech_decoder_postnet_units": 16,
        "speech_decoder_prenet_units": 16,
        "speaker_embedding_dim": 8,
    },
    input_ids=tokens,
    decoder_input_values=lambda: numbers(2, 6, 8),
    speaker_embeddings=lambda: numbers(2, 8),
)
add(
    "encodec",
    "EncodecModel",
    "EncodecConfig",
    {
        "hidden_size": 16,
        "num_filters": 4,
        "upsampling_ratios": [4, 2],
        "num_lstm_layers": 1,
        "codebook_size": 16,
        "codebook_dim": 16,
        "target_bandwidths": [1.5],
        "sampling_rate": 2400,
    },
    input_values=lambda: numbers(1, 1, 64),
)
add(
    "vits",
    "VitsModel",
    "VitsConfig",
    {
        "vocab_size": 128,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "ffn_dim": 32,
        "flow_size": 32,
        "spectrogram_bins": 17,
        "prior_encoder_num_flows": 1,
        "upsample_initial_channel": 16,
        "upsample_rates": [4, 4],
        "upsample_kernel_sizes": [8, 8],
        "posterior_encoder_num_wavenet_layers": 2,
        "prior_encoder_num_wavenet_layers": 2,
    },
    input_ids=tokens,
)
add(
    "time series",
    "TimeSeriesTransformerForPrediction",
    "TimeSeriesTransformerConfig",
    {
        "prediction_length": 4,
        "context_length": 8,
        "lags_sequence": [1, 2],
        "num_time_features": 1,
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
    },
    past_values=lambda: numbers(2, 10).abs(),
    past_time_features=lambda: numbers(2, 10, 1),
    past_observed_mask=lambda: torch.ones(2, 10),
    future_values=lambda: numbers(2, 4).abs(),
    future_time_features=lambda: numbers(2, 4, 1),
)
add(
    "patch tst",
    "PatchTSTForPrediction",
    "PatchTSTConfig",
    {
        "num_input_channels": 2,
        "context_length": 16,
        "patch_length": 4,
        "patch_stride": 4,
        "d_model": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "ffn_dim": 32,
        "prediction_length": 4,
    },
    past_values=lambda: numbers(2, 16, 2),
    future_values=lambda: numbers(2, 4, 2),
)
add(
    "llava",
    "LlavaForConditionalGeneration",
    "LlavaConfig",
    {
        "vision_config": {**PICTURES, "model_type": "clip_vision_model"},
        "text_config": {**GROUPED, "model_type": "llama"},
        "image_token_index": 127,
        "vision_feature_layer": -1,
    },
    input_ids=lambda: torch.tensor([[127] * 16 + [5, 6, 7]]),
    pixel_values=lambda: numbers(1, 3, 32, 32),
)
add(
    "qwen2 vl",
    "Qwen2VLForConditionalGeneration",
    "Qwen2VLConfig",
    {
        "text_config": {**GROUPED, "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}},
        "vision_config": {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 4, "mlp_ratio": 2},
        "image_token_id": 127,
        "video_token_id": 126,
        "vision_start_token_id": 125,
        "vision_end_token_id": 124,
    },
    input_ids=lambda: torch.tensor([[125] + [127] * 4 + [124, 6, 7]]),
    pixel_values=lambda: numbers(16, 96),
    image_grid_thw=lambda: torch.tensor([[1, 4, 4]]),
    mm_token_type_ids=lambda: torch.tensor([[0] + [1] * 4 + [0, 0, 0]]),
)

for trained in ("bert", "gpt2", "t5", "vit", "mixtral", "wav2vec2", "whisper", "mamba"):
    add_training(trained)
for generating in ("gpt2", "llama", "gemma2", "mixtral", "t5", "bart", "whisper", "mamba"):
    add_generation(generating)
CASES["llama, static cache, generate"] = lambda: CASES["llama, generate"]()


def static_cache() -> None:
    add_generation("llama", {"do_sample": False, "cache_implementation": "static", "disable_compile": True})
    CASES["llama, static cache, generate"] = CASES["llama, generate"]
    add_generation("llama")


static_cache()
