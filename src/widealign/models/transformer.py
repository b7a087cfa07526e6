"""A small transformer with explicit attention, to show that the rules take any graph."""

import torch
from torch import Tensor, nn

from widealign.nn import Attention


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Takes and returns (batch, positions, width)."""
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class Transformer(nn.Module):
    """Token and position embeddings, blocks, and a readout at every position."""

    def __init__(
        self, vocabulary: int, length: int, width: int, depth: int, heads: int, outputs: int, causal: bool,
        dropout: float,
    ):  # fmt: skip
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads, causal, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.readout = nn.Linear(width, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        """Takes (batch, positions) of token numbers, returns (batch, positions, outputs)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.position(positions)
        return self.readout(self.norm(self.blocks(x)))


def transformer(
    width: int,
    vocabulary: int = 32,
    length: int = 64,
    depth: int = 2,
    heads: int = 4,
    outputs: int | None = None,
    causal: bool = True,
    dropout: float = 0.0,
) -> Transformer:
    """A small transformer; by default it predicts tokens."""
    return Transformer(vocabulary, length, width, depth, heads, outputs or vocabulary, causal, dropout)
