#!/usr/bin/python3
"""Writes losses.npz, optim.npz, training.npz and training_encoder.npz beside it: what PyTorch makes
of losses, optimiser steps, schedules and ten steps of training.

    /usr/bin/python3 tests/golden/make_training.py [folder]

Values are drawn with NumPy's RandomState and rounded to float32. Losses and training run in float64
on those values; the optimisers' steps run in float32, and their bits are what the test compares.
"""

import math
import pathlib
import sys
import zlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

REDUCTIONS = ("mean", "sum", "none")

OPTIMISERS = {
    "sgd": lambda w: torch.optim.SGD(w, lr=0.05),
    "sgd_decay": lambda w: torch.optim.SGD(w, lr=0.05, weight_decay=0.1),
    "sgd_momentum": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9),
    "sgd_dampening": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.9, dampening=0.3,
                                               weight_decay=0.01),
    "sgd_nesterov": lambda w: torch.optim.SGD(w, lr=0.05, momentum=0.8, weight_decay=0.02,
                                              nesterov=True),
    "adam": lambda w: torch.optim.Adam(w, lr=2e-3),
    "adam_decay": lambda w: torch.optim.Adam(w, lr=2e-3, betas=(0.8, 0.95), eps=1e-6,
                                             weight_decay=0.1),
    "adamw": lambda w: torch.optim.AdamW(w, lr=2e-3),
    "adamw_decay": lambda w: torch.optim.AdamW(w, lr=3e-3, betas=(0.7, 0.9), eps=1e-5,
                                               weight_decay=0.2),
}
OPTIMISER_STEPS = 12


def random_state(name):
    return np.random.RandomState(zlib.crc32(name.encode()))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def losses():
    """Entries <case>.<operand>, <case>.output and <case>.dx, the gradient where every output's is 1."""
    rng = random_state("losses")
    entries = {}

    def add(name, loss, x, **operands):
        x = torch.from_numpy(x).double().requires_grad_()
        given = {key: torch.from_numpy(value) for key, value in operands.items()}
        given = {key: value.double() if value.is_floating_point() else value
                 for key, value in given.items()}
        output = loss(x, **given)
        output.sum().backward()
        entries[f"{name}.x"] = x.detach().numpy()
        entries[f"{name}.dx"] = x.grad.numpy()
        entries[f"{name}.output"] = output.detach().contiguous().numpy()
        entries.update({f"{name}.{key}": value.numpy() for key, value in given.items()})

    scores = 4 * normal(rng, 3, 7, 11)
    targets = rng.randint(0, 11, (3, 7))
    targets[0, :3] = targets[2, 5] = -100
    weight = (0.25 + rng.rand(11)).astype(np.float32)
    for reduction in REDUCTIONS:
        for smoothing in (0.0, 0.15):
            def cross_entropy(x, targets, weight=None):
                return F.cross_entropy(x.transpose(1, 2), targets, weight, reduction=reduction,
                                       label_smoothing=smoothing)
            name = f"cross_entropy_{reduction}_{'smooth' if smoothing else 'plain'}"
            add(name, cross_entropy, scores, targets=targets)
            add(f"{name}_weighted", cross_entropy, scores, targets=targets, weight=weight)
    add("cross_entropy_all_ignored", lambda x, targets: F.cross_entropy(x, targets, ignore_index=2),
        scores[0], targets=np.full(7, 2))
    add("cross_entropy_far", F.cross_entropy, 300 * scores[0], target=np.arange(7))

    logits = 5 * normal(rng, 4, 9)
    logits[0, :4] = [-90, 90, -30, 30]
    labels = (rng.rand(4, 9) < 0.5).astype(np.float32)
    labels[3] = rng.rand(9)
    for reduction in REDUCTIONS:
        bce = F.binary_cross_entropy_with_logits
        add(f"bce_{reduction}", lambda x, target: bce(x, target, reduction=reduction), logits,
            target=labels)
        add(f"bce_{reduction}_weighted",
            lambda x, target, weight, pos_weight: bce(x, target, weight, reduction=reduction,
                                                      pos_weight=pos_weight),
            logits, target=labels, weight=rng.rand(4, 1).astype(np.float32),
            pos_weight=3 * rng.rand(9).astype(np.float32))
        add(f"mse_{reduction}", lambda x, target: F.mse_loss(x, target, reduction=reduction),
            logits, target=normal(rng, 4, 9))
    return entries


def optimisers():
    """gradients (steps, n), start (n) and <case>, the weights after each step, all float32."""
    rng = random_state("optim")
    start = normal(rng, 131)
    gradients = normal(rng, OPTIMISER_STEPS, 131) * np.float32(0.3)
    gradients[:, 7] = 0
    gradients[4:, 8] = 0
    entries = {"start": start, "gradients": gradients}
    for name, make in OPTIMISERS.items():
        w = torch.from_numpy(start.copy()).requires_grad_()
        optimiser = make([w])
        after = []
        for gradient in gradients:
            w.grad = torch.from_numpy(gradient.copy())
            optimiser.step()
            after.append(w.detach().numpy().copy())
        entries[name] = np.stack(after)
    return entries


# The three functions of transformers.optimization, as they are there.

def constant(step, warmup):
    return float(step) / float(max(1.0, warmup)) if step < warmup else 1.0


def linear(step, warmup, total):
    if step < warmup:
        return float(step) / float(max(1, warmup))
    return max(0.0, float(total - step) / float(max(1, total - warmup)))


def cosine(step, warmup, total, cycles=0.5):
    if step < warmup:
        return float(step) / float(max(1, warmup))
    progress = float(step - warmup) / float(max(1, total - warmup))
    return max(0.0, 0.5 * (1.0 + math.cos(math.pi * float(cycles) * 2.0 * progress)))


SCHEDULES = {
    "constant": lambda step: constant(step, 0),
    "constant_warmup": lambda step: constant(step, 7),
    "linear": lambda step: linear(step, 7, 40),
    "linear_no_warmup": lambda step: linear(step, 0, 40),
    "cosine": lambda step: cosine(step, 7, 40),
    "cosine_waves": lambda step: cosine(step, 3, 40, 1.5),
}


def schedules():
    entries = {}
    for name, factor in SCHEDULES.items():
        optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=3e-4)
        scheduler = LambdaLR(optimiser, factor)
        rates = []
        for _ in range(45):
            rates.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            scheduler.step()
        entries[f"schedule.{name}"] = np.array(rates)
    return entries


class Net(nn.Module):
    """Linear, GELU, LayerNorm, Linear."""

    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(6, 20)
        self.norm = nn.LayerNorm(20)
        self.linear2 = nn.Linear(20, 5)

    def forward(self, x):
        return self.linear2(self.norm(F.gelu(self.linear1(x))))


def train(dtype, plain):
    """Ten steps: plain AdamW, or with two groups, clipping, smoothing and a schedule."""
    rng = random_state("training")
    net = Net()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.from_numpy(normal(rng, *parameter.shape) * np.float32(0.4)))
    start = {name: value.clone().numpy() for name, value in net.state_dict().items()}
    net.to(dtype)
    x = normal(rng, 10, 12, 6)
    y = rng.randint(0, 5, (10, 12))
    groups = net.parameters() if plain else [
        {"params": [p for p in net.parameters() if p.dim() >= 2]},
        {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=0.02, weight_decay=0.1)
    scheduler = LambdaLR(optimiser, lambda step: 1.0 if plain else cosine(step + 1, 3, 10))
    found, norms = [], []
    for step in range(10):
        smoothing = 0.0 if plain else 0.1
        loss = F.cross_entropy(net(torch.from_numpy(x[step]).to(dtype)), torch.from_numpy(y[step]),
                               label_smoothing=smoothing)
        optimiser.zero_grad()
        loss.backward()
        if not plain:
            norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5).item())
        optimiser.step()
        scheduler.step()
        found.append(loss.item())
    end = {name: value.numpy() for name, value in net.double().state_dict().items()}
    return x, y, start, np.array(found), np.array(norms), end


def training():
    entries = {}
    for kind in ("plain", "full"):
        x, y, start, found, norms, end = train(torch.float64, kind == "plain")
        narrow = train(torch.float32, kind == "plain")[3]
        assert abs(found - narrow).max() < 5e-6, "float32 strays"
        entries.update({"x": x, "y": y, f"{kind}.losses": found, f"{kind}.norms": norms})
        entries.update({f"state.{name}": value for name, value in start.items()})
        entries.update({f"{kind}.end.{name}": value for name, value in end.items()})
    return entries


class EncoderClassifier(nn.Module):
    """models::SequenceClassifier: learned positions, two layers, the mean of the real tokens."""

    def __init__(self, norm_first):
        super().__init__()
        self.words = nn.Embedding(23, 16)
        self.places = nn.Embedding(9, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16) if norm_first else None)
        self.classifier = nn.Linear(16, 5)

    def forward(self, tokens, lengths):
        x = self.words(tokens) + self.places.weight[:tokens.shape[1]]
        padding = torch.arange(tokens.shape[1])[None, :] >= lengths[:, None]
        x = self.encoder(x, src_key_padding_mask=padding)
        x = x.masked_fill(padding[:, :, None], 0).sum(1) / lengths[:, None]
        return self.classifier(x)


OUR_NAMES = {"words.": "embeddings.word_embeddings.", "places.": "embeddings.position_embeddings."}


def our_name(name):
    for theirs, ours in OUR_NAMES.items():
        name = ours + name[len(theirs):] if name.startswith(theirs) else name
    return name


def train_encoder(dtype, norm_first):
    """Ten steps of AdamW with two groups, clipping and warm-up on batches of padded sequences."""
    rng = random_state("training_encoder")
    tokens = rng.randint(0, 23, (10, 6, 9))
    lengths = rng.randint(1, 10, (10, 6))
    labels = rng.randint(0, 5, (10, 6))
    net = EncoderClassifier(norm_first).train()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            drawn = torch.from_numpy(normal(rng, *parameter.shape))
            is_scale = "norm" in name and name.endswith("weight")
            parameter.copy_(1 + 0.2 * drawn if is_scale else 0.3 * drawn)
    start = {our_name(name): value.clone().numpy() for name, value in net.state_dict().items()}
    net.to(dtype)
    optimiser = torch.optim.AdamW(
        [{"params": [p for p in net.parameters() if p.dim() >= 2]},
         {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0}],
        lr=0.01, weight_decay=0.1)
    scheduler = LambdaLR(optimiser, lambda step: linear(step + 1, 4, 10))
    found, norms = [], []
    for batch in zip(tokens, lengths, labels):
        words, counts, targets = map(torch.from_numpy, batch)
        loss = F.cross_entropy(net(words, counts), targets, label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 1.0).item())
        optimiser.step()
        scheduler.step()
        found.append(loss.item())
    inputs = {"tokens": tokens, "lengths": lengths, "labels": labels}
    return inputs, start, np.array(found), np.array(norms)


def training_encoder():
    entries = {}
    for kind, norm_first in (("post", False), ("pre", True)):
        inputs, start, found, norms = train_encoder(torch.float64, norm_first)
        narrow = train_encoder(torch.float32, norm_first)[2]
        assert abs(found - narrow).max() < 5e-6, "float32 strays"
        entries.update(inputs)
        entries.update({f"{kind}.losses": found, f"{kind}.norms": norms})
        entries.update({f"{kind}.start.{name}": value for name, value in start.items()})
    return entries


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    for name, entries in (("losses", losses()), ("optim", {**optimisers(), **schedules()}),
                          ("training", training()),
                          ("training_encoder", training_encoder())):
        path = folder / f"{name}.npz"
        np.savez(path, **{key: np.asarray(value, order="C") for key, value in entries.items()})
        print(f"{path.name:16}{path.stat().st_size:>8} bytes")


if __name__ == "__main__":
    main()
