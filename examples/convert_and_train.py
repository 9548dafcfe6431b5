# SPDX-License-Identifier: Apache-2.0
"""Gives a vision transformer of torchvision sparse attention and trains it on: convert_and_train.py [STEPS]

The pictures are drawn here: stripes that lie or stand, which a model of 21 thousand parameters tells apart in seconds.
"""

import sys

import torch
import torchvision

import fibottention


def stripes(count, side=32):
    """Pictures [count,3,side,side] and labels: 1 where stripes stand."""
    labels = torch.randint(2, (count,))
    period, phase = 4 + 4 * torch.rand(count, 1, 1), 6 * torch.rand(count, 1, 1)
    wave = torch.sin(2 * torch.pi * torch.arange(side).float().view(1, 1, side) / period + phase).expand(count, side, side)
    wave = torch.where(labels.view(-1, 1, 1) == 1, wave, wave.transpose(1, 2))
    return wave.unsqueeze(1).expand(-1, 3, -1, -1) + 0.5 * torch.randn(count, 3, side, side), labels


@torch.no_grad()
def accuracy(model, pictures, labels):
    return (model.eval()(pictures).argmax(1) == labels).float().mean().item()


def train(model, steps):
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=2e-3)
    for step in range(steps):
        pictures, labels = stripes(32)
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    test = stripes(200)
    model = torchvision.models.VisionTransformer(32, 4, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64, num_classes=2)
    fibottention.convert(model, "fibottention", wmax=32)
    print(fibottention.describe(model))
    before = accuracy(model, *test)
    train(model, int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    print(f"accuracy {before:.2f} before, {accuracy(model, *test):.2f} after")
    torch.save(model.state_dict(), "stripes.pt")  # loads into a model of torchvision, which then says what it was converted to


if __name__ == "__main__":
    main()
