"""Training scripts as people write them: the same losses as eagerly, to the last digit, by API and with MINIDYNAMO=1."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from environments import without_settings

STARTUP = pathlib.Path(__file__).parents[3] / "startup"
PACKAGE = pathlib.Path(str(importlib.util.find_spec("minidynamo").origin)).parents[1]  # type: ignore[union-attr]

LOOP = """
import sys
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle = nn.Linear(8, 16), nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.1))
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        return self.last(checkpoint(self.middle, self.first(x), use_reentrant=False))


def main():
    torch.manual_seed(0)
    model = Model()
    loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 4, (40,))), batch_size=8, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    for p in model.parameters():
        p.register_hook(lambda gradient: gradient.clamp(-1, 1))

    def train_step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    if "api" in sys.argv:
        import minidynamo

        train_step = minidynamo.optimize("eager", fullgraph=True)(train_step)
    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            total += train_step(x, y).item()
            scheduler.step()
        print(epoch, repr(total))
    print(repr(sum(p.double().sum().item() for p in model.parameters())))


main()
if "minidynamo" in sys.modules:
    captured = sys.modules["minidynamo"].stats()["captured"]
    print("captures", 0 < captured <= 4 or captured)
"""

TRAINER = """
import sys
import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

transformers.set_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=1, eos_token_id=1))
data = [{"input_ids": tokens, "labels": tokens} for tokens in torch.randint(0, 60, (24, 10))]
arguments = TrainingArguments(
    output_dir=sys.argv[1], num_train_epochs=2, per_device_train_batch_size=4, logging_steps=1, report_to=[], use_cpu=True,
    save_strategy="no", disable_tqdm=True, gradient_accumulation_steps=2,
)
trainer = Trainer(model=model, args=arguments, train_dataset=data)
trainer.train()
print([repr(line["loss"]) for line in trainer.state.log_history if "loss" in line])
print(repr(sum(p.double().sum().item() for p in model.parameters())))
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 4, (40,))), batch_size=8, shuffle=True)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for epoch in range(4):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(repr(loss.item()))
print(repr(sum(p.double().sum().item() for p in model.parameters())))
"""

LIGHTNING = """
import pytorch_lightning as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

lightning.seed_everything(0)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        print(repr(loss.item()))
        return loss

    def validation_step(self, batch, index):
        self.log("validation", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


model, data = Model(), TensorDataset(torch.randn(40, 8), torch.randint(0, 4, (40,)))
trainer = lightning.Trainer(
    max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, gradient_clip_val=1.0,
)
trainer.fit(model, DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=8))
print({name: repr(value.item()) for name, value in trainer.callback_metrics.items()})
print(repr(sum(p.double().sum().item() for p in model.parameters())))
"""


def run(folder: pathlib.Path, program: str, *arguments: str, **environment: str) -> list[str]:
    (folder / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(STARTUP)!r})\n")
    (folder / "program.py").write_text(program)
    cleaned = without_settings()
    path = os.pathsep.join(filter(None, [str(folder), str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, str(folder / "program.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        env={**cleaned, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if "train_runtime" not in line]


def test_a_loop_with_a_data_loader(tmp_path: pathlib.Path) -> None:
    expected = run(tmp_path, LOOP)
    assert len(expected) == 4
    assert run(tmp_path, LOOP, "api") == [*expected, "captures True"]
    assert run(tmp_path, LOOP, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager") == [*expected, "captures True"]


LIBRARIES = {"accelerate": ACCELERATE, "pytorch_lightning": LIGHTNING, "transformers": TRAINER}


@pytest.mark.parametrize("library", LIBRARIES)
def test_loops_of_libraries(library: str, tmp_path: pathlib.Path) -> None:
    needed = "accelerate" if library == "transformers" else library  # which the Trainer needs
    pytest.importorskip(needed, minversion="1.1")
    expected = run(tmp_path, LIBRARIES[library], str(tmp_path))
    assert run(tmp_path, LIBRARIES[library], str(tmp_path), MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager") == expected
