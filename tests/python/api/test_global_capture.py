"""Whole programs under MINIDYNAMO=1: what is captured, and what is left alone; each program says the same with and without."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from environments import without_settings

STARTUP = pathlib.Path(__file__).parents[3] / "startup"
PACKAGE = pathlib.Path(str(importlib.util.find_spec("minidynamo").origin)).parents[1]  # type: ignore[union-attr]
REPORT = """
import atexit, sys
@atexit.register
def report():
    if "minidynamo" not in sys.modules:
        return
    from minidynamo import debug, stats
    print("graphs", stats()["graphs"], "left", *(record.frame for record in debug.uncaptured()))
"""
NETWORK = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __init__(self, size):
        self.x = torch.arange(float(size * 4)).reshape(size, 4) / size
        self.y = self.x.sum(1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] * 1.0, self.y[index]

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 8), nn.Linear(8, 1)
        with torch.no_grad():
            self.one.weight.mul_(2)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))

torch.manual_seed(0)
network = Network()
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
loader = DataLoader(Data(64), batch_size=8)
"""
LOADER = """
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
print(loss.item())
"""
TRAIN = """
def train():
    total = 0.0
    for epoch in range(2):
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(network(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total

print(train())
"""
STEPS = """
def step(model, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()

def main():
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for epoch in range(3):
        for index, (x, y) in enumerate(loader):
            last = step(network, x, y)
        schedule.step()
    network.eval()
    with torch.no_grad():
        print(last, sum(nn.functional.mse_loss(network(x), y).item() for x, y in loader))

main()
"""
OUTERMOST = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for count in range(4):
    y = model(torch.ones(3, 4) * count)
print(y.sum().item())
"""
AROUND = """
import torch

def make():
    weight = torch.ones(4)
    def inner():
        return (weight * 2).sin().sum()
    return inner

class Holder:
    pass

holder = Holder()
holder.weight = torch.ones(4)

def of_attribute():
    return (holder.weight * 3).cos().sum()

def of_nothing(number):
    return number + 1

of_closure = make()
for count in range(3):
    result = of_closure() + of_attribute() + of_nothing(count)
print(result.item())
"""
NUMBERS = """
import torch

data = torch.arange(64.0).reshape(16, 4)

def row(index):
    return data[index].sum() * 2

class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.sub_(parameter.grad)

weight = torch.ones(4, requires_grad=True)
optimizer = Own([weight])
for index in range(16):
    (row(index) * weight).sum().backward()
    optimizer.step()
print(weight.tolist())
"""
TRANSFORMER = """
import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100, max_position_embeddings=32,
    attn_implementation="eager"))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids, labels = torch.randint(0, 100, (8, 16)), torch.randint(0, 2, (8,))
for epoch in range(2):
    for start in range(0, 8, 4):
        out = model(input_ids=ids[start:start + 4], attention_mask=torch.ones(4, 16, dtype=torch.long), labels=labels[start:start + 4])
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(out.loss.item())
"""


def said(folder: pathlib.Path, program: str, **environment: str) -> list[str]:
    (folder / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(STARTUP)!r})\n{REPORT}")
    (folder / "program.py").write_text(textwrap.dedent(program))
    cleaned = without_settings()
    path = os.pathsep.join(filter(None, [str(folder), str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, str(folder / "program.py")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**cleaned, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert "captures" not in done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "graphs"),
    [
        pytest.param(NETWORK + LOADER, range(1, 2), id="loader"),
        pytest.param(NETWORK + TRAIN, range(1, 7), id="train"),
        pytest.param(NETWORK + STEPS, range(1, 11), id="steps"),
        pytest.param(OUTERMOST, range(1, 2), id="outermost"),
        pytest.param(AROUND, range(2, 3), id="around"),
        pytest.param(NUMBERS, range(1, 3), id="numbers"),
    ],
)
def test_program(tmp_path: pathlib.Path, program: str, graphs: range) -> None:
    plain = said(tmp_path, program)
    *captured, report = said(tmp_path, program, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    assert captured == plain
    assert int(report.split()[1]) in graphs, report
    assert "__init__" not in report and "__getitem__" not in report


def test_model_of_transformers(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("transformers")
    plain = said(tmp_path, TRANSFORMER)
    *captured, report = said(tmp_path, TRANSFORMER, MINIDYNAMO="1", MINIDYNAMO_BACKEND="eager")
    assert [float(line) for line in captured] == pytest.approx([float(line) for line in plain], rel=1e-5)
    assert 1 <= int(report.split()[1]) <= 3, report
