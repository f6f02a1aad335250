"""Eight wide layers. Arguments: sgd or fused, else Adam; checkpoint, reentrant; amp; inference."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH, BATCH = 1024, 4096


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(0.1))
                                    for _ in range(8))

    def forward(self, x):
        for layer in self.layers:
            if "checkpoint" in sys.argv and (x.requires_grad or "reentrant" not in sys.argv):
                x = checkpoint(layer, x, use_reentrant="reentrant" in sys.argv)
            else:
                x = layer(x)
        return x


model = Perceptron().to("cuda")
if "sgd" in sys.argv:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
else:
    optimizer = torch.optim.Adam(model.parameters(), fused="fused" in sys.argv)


def step():
    x = torch.randn(BATCH, WIDTH, device="cuda")
    if "inference" in sys.argv:
        with torch.no_grad():
            model.eval()(x)
        return
    with torch.autocast("cuda", enabled="amp" in sys.argv):
        loss = model(x).float().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
