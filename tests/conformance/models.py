# SPDX-License-Identifier: Apache-2.0
"""Models that the training tests use, small but with everything that matters.

Each has `batch()`, which draws an input and a target, and `loss(x, y)`.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

Batch = tuple[torch.Tensor, torch.Tensor]


class Classifier(nn.Module):
    """A model whose output are logits, in rows as the targets are."""

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self(x), y)


class Mlp(Classifier):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    @staticmethod
    def batch() -> Batch:
        return torch.randn(16, 20), torch.randint(5, (16,))


class Dropout(Mlp):
    """The same with a layer that leaves out half of its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers.insert(2, nn.Dropout(0.5))


class Cnn(Classifier):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))

    @staticmethod
    def batch() -> Batch:
        return torch.randn(8, 3, 12, 12), torch.randint(5, (8,))


class Transformer(Classifier):
    """Two pre-norm blocks with causal attention, as language models have."""

    WIDTH = 16
    HEADS = 2
    WORDS = 11

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.WORDS, self.WIDTH)
        self.position = nn.Parameter(torch.randn(8, self.WIDTH))
        self.blocks = nn.ModuleList(self._block() for _ in range(2))
        self.norm = nn.LayerNorm(self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS)

    def _block(self) -> nn.ModuleDict:
        width = self.WIDTH
        return nn.ModuleDict(
            {
                "norm1": nn.LayerNorm(width),
                "qkv": nn.Linear(width, 3 * width),
                "out": nn.Linear(width, width),
                "norm2": nn.LayerNorm(width),
                "mlp": nn.Sequential(
                    nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
                ),
            }
        )

    def _attend(self, block: nn.ModuleDict, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.HEADS, width // self.HEADS)
        q, k, v = (
            part.view(shape).transpose(1, 2)
            for part in block["qkv"](x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return block["out"](y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.embedding(x) + self.position
        for block in self.blocks:
            y = y + self._attend(block, block["norm1"](y))
            y = y + block["mlp"](block["norm2"](y))
        return self.head(self.norm(y)).flatten(0, 1)

    @classmethod
    def batch(cls) -> Batch:
        words = torch.randint(cls.WORDS, (4, 9))
        return words[:, :-1], words[:, 1:].flatten()


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut (He et al. 2015)."""

    EXPANSION = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.EXPANSION
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


class ResNet50(Classifier):
    """ResNet-50, all 50 layers, with an eighth of its width."""

    BLOCKS = (3, 4, 6, 3)
    WIDTH = 8

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, self.WIDTH, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(self.WIDTH),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        ]
        inputs = self.WIDTH
        for stage, count in enumerate(self.BLOCKS):
            width = self.WIDTH << stage
            for block in range(count):
                stride = 2 if stage and not block else 1
                layers.append(Bottleneck(inputs, width, stride))
                inputs = width * Bottleneck.EXPANSION
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(inputs, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))

    @staticmethod
    def batch() -> Batch:
        return torch.randn(4, 3, 64, 64), torch.randint(5, (4,))


class Bert(Classifier):
    """An encoder that guesses masked words, with torch's own layers."""

    WIDTH = 16
    WORDS = 13
    LENGTH = 8
    MASK = 0
    IGNORED = -100

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(self.WORDS, self.WIDTH)
        self.positions = nn.Embedding(self.LENGTH, self.WIDTH)
        self.norm = nn.LayerNorm(self.WIDTH, eps=1e-12)
        layer = nn.TransformerEncoderLayer(
            self.WIDTH, 4, 32, dropout=0.0, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(
            nn.Linear(self.WIDTH, self.WIDTH), nn.GELU(), nn.LayerNorm(self.WIDTH)
        )
        self.bias = nn.Parameter(torch.zeros(self.WORDS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        y = self.norm(self.words(x) + self.positions(places))
        padding = x == self.WORDS - 1
        y = self.head(self.encoder(y, src_key_padding_mask=padding))
        return F.linear(y, self.words.weight, self.bias).flatten(0, 1)

    @classmethod
    def batch(cls) -> Batch:
        words = torch.randint(1, cls.WORDS - 1, (4, cls.LENGTH))
        words[0, -2:] = cls.WORDS - 1  # padding
        masked = torch.rand(words.shape) < 0.3
        masked[:, 0] = True
        target = words.masked_fill(~masked, cls.IGNORED)
        return words.masked_fill(masked, cls.MASK), target.flatten()


class Llama(Classifier):
    """A decoder with grouped-query attention, rotary positions, RMSNorm and SwiGLU."""

    WIDTH = 32
    HEADS = 4
    GROUPS = 2
    WORDS = 17
    LENGTH = 8

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(self.WORDS, self.WIDTH)
        self.blocks = nn.ModuleList(self._block() for _ in range(2))
        self.norm = nn.RMSNorm(self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS, bias=False)
        size = self.WIDTH // self.HEADS
        rates = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.outer(torch.arange(self.LENGTH, dtype=torch.float64), rates)
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))

    def _block(self) -> nn.ModuleDict:
        width, size = self.WIDTH, self.WIDTH // self.HEADS
        return nn.ModuleDict(
            {
                "norm1": nn.RMSNorm(width),
                "q": nn.Linear(width, width, bias=False),
                "kv": nn.Linear(width, 2 * self.GROUPS * size, bias=False),
                "out": nn.Linear(width, width, bias=False),
                "norm2": nn.RMSNorm(width),
                "gate": nn.Linear(width, 2 * width, bias=False),
                "up": nn.Linear(width, 2 * width, bias=False),
                "down": nn.Linear(2 * width, width, bias=False),
            }
        )

    def _rotate(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        return x * self.cos.to(x.dtype) + turned * self.sin.to(x.dtype)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        size = self.WIDTH // self.HEADS
        return x.unflatten(-1, (-1, size)).transpose(1, 2)

    def _attend(self, block: nn.ModuleDict, x: torch.Tensor) -> torch.Tensor:
        q = self._rotate(self._heads(block["q"](x)))
        k, v = (self._heads(part) for part in block["kv"](x).chunk(2, dim=-1))
        y = F.scaled_dot_product_attention(
            q, self._rotate(k), v, is_causal=True, enable_gqa=True
        )
        return block["out"](y.transpose(1, 2).flatten(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.embedding(x)
        for block in self.blocks:
            y = y + self._attend(block, block["norm1"](y))
            z = block["norm2"](y)
            y = y + block["down"](F.silu(block["gate"](z)) * block["up"](z))
        return self.head(self.norm(y)).flatten(0, 1)

    @classmethod
    def batch(cls) -> Batch:
        words = torch.randint(cls.WORDS, (4, cls.LENGTH + 1))
        return words[:, :-1], words[:, 1:].flatten()


class UNetBlock(nn.Module):
    """Two convolutions around a shortcut, told the step of the diffusion."""

    def __init__(self, inputs: int, outputs: int, step: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(4, inputs),
            nn.SiLU(),
            nn.Conv2d(inputs, outputs, 3, padding=1),
        )
        self.step = nn.Linear(step, outputs)
        self.second = nn.Sequential(
            nn.GroupNorm(4, outputs),
            nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        y = self.first(x) + self.step(step)[:, :, None, None]
        return self.second(y) + self.shortcut(x)


class UNet(nn.Module):
    """Predicts the noise of a picture, as diffusion models do (Ho et al. 2020)."""

    WIDTH = 8
    STEPS = 10

    def __init__(self) -> None:
        super().__init__()
        width = self.WIDTH
        self.step = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = UNetBlock(width, width, width)
        self.shrink = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.middle = UNetBlock(width, width, width)
        self.norm = nn.GroupNorm(4, width)
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.attended = nn.Conv2d(width, width, 1)
        self.grow = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)
        )
        self.up = UNetBlock(2 * width, width, width)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def _step_signal(self, steps: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        half = self.WIDTH // 2
        rates = torch.exp(-torch.arange(half, device=steps.device, dtype=dtype))
        angles = steps[:, None].to(dtype) * rates
        return self.step(torch.cat((angles.sin(), angles.cos()), dim=1))

    def _attend(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(*parts)
        return x + self.attended(y.transpose(1, 2).view_as(x))

    def forward(self, x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        step = self._step_signal(steps, x.dtype)
        wide = self.down(self.enter(x), step)
        y = self._attend(self.middle(self.shrink(wide), step))
        y = self.up(torch.cat((self.grow(y), wide), dim=1), step)
        return self.leave(y)

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Of a clean picture in x[:, 0] with the noise x[:, 1], at the steps y."""
        clean, noise = x.unbind(1)
        kept = (1 - y.to(x.dtype) / self.STEPS)[:, None, None, None]
        noisy = kept.sqrt() * clean + (1 - kept).sqrt() * noise
        return F.mse_loss(self(noisy, y), noise)

    @classmethod
    def batch(cls) -> Batch:
        return torch.randn(4, 2, 3, 16, 16), torch.randint(1, cls.STEPS, (4,))


MODELS: dict[str, type[nn.Module]] = {
    "mlp": Mlp,
    "cnn": Cnn,
    "transformer": Transformer,
    "resnet50": ResNet50,
    "bert": Bert,
    "llama": Llama,
    "unet": UNet,
}
