# SPDX-License-Identifier: Apache-2.0
"""torchvision's models in their real size, too large for every run of the tests; run by scripts/try-python.sh."""

import os
import subprocess
from pathlib import Path

import numpy
import torch
import torchvision

import fibottention
import weights

FIB = os.environ.get("FIB_BINARY")


def randomized(model):
    """torchvision begins with a head of zeros, which would hide every difference."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.abs().sum() == 0:
            torch.nn.init.normal_(parameter, std=0.02)
    return model.eval()


def training_step(model, images):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), torch.zeros(len(images), dtype=torch.long))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"  a training step: loss {losses[0]:.4f} -> {losses[1]:.4f}")
    assert losses[1] < losses[0]


def by_the_program(model_name, state, images):
    weights.save(state, Path("w.safetensors"))
    numpy.save("x.npy", images.numpy())
    subprocess.run([FIB, "--quiet", "infer", "--model", model_name, "--weights", "w.safetensors", "--attention", "fibottention",
                    "--input", "x.npy", "--out", "y.npy"], check=True)
    return torch.from_numpy(numpy.load("y.npy"))


def try_model(make, our_name, names, layers=None):
    print(f"{make.__name__}, torch {torch.__version__}, {fibottention.__file__}")
    model, images = randomized(make()), torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        own = model(images)
        full = fibottention.convert(model, "full")(images)
        sparse = fibottention.convert(fibottention.restore(model), "fibottention", layers=layers)(images)
    print(f"  full differs from its own by {(full - own).abs().max():.2g}, logits up to {own.abs().max():.2g}")
    assert (full - own).abs().max() < 1e-5
    if FIB:
        difference = (sparse - by_the_program(our_name, weights.renamed(model.state_dict(), names), images)).abs().max()
        print(f"  fibottention differs from fib infer by {difference:.2g}, from its own by {(sparse - own).abs().max():.2g}")
        assert difference < 1e-4
    training_step(model, images)


if __name__ == "__main__":
    try_model(torchvision.models.vit_b_16, "vit_base_patch16_224", weights.VIT_NAMES)
    try_model(torchvision.models.swin_t, "swin_tiny_patch4_window7_224", weights.SWIN_NAMES, layers=range(4))
