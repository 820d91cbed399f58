"""Parts of which blocks are written at random: what stands before them, their statements, and what may change."""

import torch

HEAD = """
    import math
    import warnings
    from dataclasses import dataclass, field

    import torch
    from torch import nn
    from torch.nn import functional

    SETTINGS = {"scale": 1.25, "act": "relu", "flag": False}
    SCALE = 0.75
    HISTORY = []


    @dataclass
    class Config:
        scale: float = 1.1
        flag: bool = False
        act: str = "gelu"
        approximate: str = "none"
        times: int = 1
        p: float = 0.0
        scales: list = field(default_factory=lambda: [1.2, 0.9])
        nested: dict = field(default_factory=lambda: {"gain": torch.tensor(1.3)})


    def scaled(z, by=1.05):
        return z * by


    def with_settings(z):
        return z * SETTINGS["scale"] if SETTINGS["flag"] else z


    def activate(z):
        return getattr(functional, SETTINGS["act"])(z)


    def counted(z):
        HISTORY.append(1)
        return z


    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, z):
            self.n += 1
            return z.relu() * (1 + 0.125 * (self.n % 3))


    class Remembering(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(()))

        def forward(self, z):
            with torch.no_grad():
                self.mean.mul_(0.5).add_(z.mean() * 0.5)
            return functional.silu(z) + self.mean


    class Configurable(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config

        def forward(self, z):
            return functional.gelu(z, approximate=self.config.approximate)


    class Base(nn.Module):
        gain = 1.5
        table = {"relu": torch.relu, "tanh": torch.tanh}

        def __init__(self):
            super().__init__()
            self.config = Config()
            self.fc1, self.fc2 = nn.Linear(12, 20), nn.Linear(20, 12)
            self.act = ACT
            self.factors = [0.8, torch.tensor(1.1)]
            self.shift = torch.tensor(0.1)
            self.register_buffer("buffered", torch.tensor(1.2))
            self.calls = 0
            self.has_warned = False

        @property
        def factor(self):
            return self.config.scale * self.factors[0]

        def helped(self, z):
            return z * self.config.scales[1]

        @staticmethod
        def halved(z):
            return z * 0.5

        @classmethod
        def gained(cls, z):
            return z * cls.gain
"""

# Statements about a tensor `z`, which the code calls x, h or y.
STEPS = [
    "z = z * self.config.scale",
    "z = z * self.config.scales[0]",
    "z = z * self.config.nested['gain']",
    "z = z * SETTINGS['scale']",
    "z = z * SCALE",
    "z = z + self.shift",
    "z = z * self.factors[1]",
    "z = z * self.buffered",
    "z = z * self.factor",
    "z = self.helped(z)",
    "z = self.halved(z)",
    "z = self.gained(z)",
    "z = z * self.gain",
    "z = scaled(z)",
    "z = scaled(z, by=self.config.scale)",
    "z = with_settings(z)",
    "z = counted(z)",
    "self.calls += 1",
    "z = z * (1 + 0.125 * (self.calls % 2)); self.calls += 1",
    "z = z if self.training else z * 1.1",
    "z = functional.dropout(z, self.config.p, self.training)",
    "z = functional.dropout(z, 0.25, self.training)",
    "for _ in range(self.config.times): z = z * 0.9",
    "if self.config.flag: z = z + 1",
    "if z.shape[-1] > 100: raise ValueError(f'{type(z)} of {tuple(z.shape)}')",
    "assert z.ndim > 1, type(z)",
    "if not self.has_warned and self.config.flag: warnings.warn('once'); self.has_warned = True",
    "if z.device.type != 'cpu': from torch import fft; z = fft.fft(z).real",
    "z = z.contiguous()",
    "z = z.to(z.dtype)",
    "z = z.clamp(-50.0, 50.0)",
    "z = z.view(*z.shape)",
    "z, *rest = [z, None]",
    "self.last = z.detach()",
    "if hasattr(self, 'extra'): z = z * self.extra",
    "z = z * getattr(self, 'extra', 1.0)",
    "z = z + 0 * math.pi",
]
ACTIVATIONS = [
    "h = self.act(h)",
    "h = functional.relu(h)",
    "h = h.relu()",
    "h = torch.clamp(h, min=0)",
    "h = h.clamp_min(0.0)",
    "h = torch.maximum(h, torch.zeros_like(h))",
    "h = functional.gelu(h, approximate=self.config.approximate)",
    "h = getattr(functional, self.config.act)(h)",
    "h = activate(h)",
    "h = self.table['relu'](h)",
    "h = self.table[SETTINGS['act'] if SETTINGS['act'] in self.table else 'tanh'](h)",
    "h = h * torch.sigmoid(h)",
    "h = h * torch.sigmoid(self.config.scale * h)",
    "h = 0.5 * h * (1 + torch.erf(h / math.sqrt(2)))",
    "h = functional.silu(h) if not self.config.flag else functional.relu(h)",
    "h = functional.relu6(h)",
    "h = functional.leaky_relu(h, 0.0)",
]
ACTS = ["nn.ReLU()", "nn.GELU()", "nn.SiLU()", "Counting()", "Remembering()", "Configurable(self.config)"]
FIRST = ["h = self.fc1(x)", "h = self.fc1(x)", "h = functional.linear(x, self.fc1.weight, self.fc1.bias)"]
SECOND = ["y = self.fc2(h)", "y = self.fc2(h)", "y = functional.linear(h, self.fc2.weight, self.fc2.bias)"]


def config(**values):
    def change(block, _):
        for name, value in values.items():
            setattr(block.config, name, value)

    return change


def of_the_module(name, value):
    def change(_, module):
        module.SETTINGS[name] = value

    return change


def listed(block, _):
    block.config.scales[:] = [0.5, 2.0]
    block.factors[0] = 1.7


def in_place(block, _):
    block.shift.fill_(0.5)
    block.factors[1].mul_(2)
    block.config.nested["gain"].mul_(0.5)
    block.buffered.mul_(1.5)


def another_gain(block, _):
    block.config.nested["gain"] = torch.tensor(0.2)


def of_the_class(block, _):
    type(block).gain = 0.25


def a_helper(_, module):
    module.scaled = lambda z, by=1.0: z * by * 3


def a_default(_, module):
    module.scaled.__defaults__ = (2.0,)


def a_constant(_, module):
    module.SCALE = 2.0


def the_table(block, _):
    type(block).table["relu"] = torch.tanh


def extra(block, _):
    block.extra = 2.0


def another_activation(block, _):
    block.act = torch.nn.Tanh()


CHANGES = [
    config(scale=1.702),
    config(flag=True),
    config(act="silu"),
    config(approximate="tanh"),
    config(times=3),
    config(p=0.5),
    of_the_module("scale", 0.5),
    of_the_module("flag", True),  # noqa: FBT003 - a value of a dict
    of_the_module("act", "tanh"),
    listed,
    in_place,
    another_gain,
    of_the_class,
    a_helper,
    a_default,
    a_constant,
    the_table,
    extra,
    another_activation,
]
