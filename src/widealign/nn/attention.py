"""Multi-head attention with its four projections as modules of their own, which are sites."""

from torch import Tensor, nn


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d)) V over several heads; what `nn.MultiheadAttention` hides in one operation.

    Args:
        features: Size of the input and of the output.
        heads: Number of heads; divides `features`.
        causal: Whether a position sees only itself and what came before.
        dropout: Probability with which an attention weight is dropped in training.
    """

    def __init__(self, features: int, heads: int, causal: bool = False, dropout: float = 0.0, bias: bool = True):
        super().__init__()
        if features % heads:
            raise ValueError(f"features must be a multiple of heads; they are {features} and {heads}.")
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(features, features, bias) for _ in range(4))

    @classmethod
    def from_fused(cls, fused: nn.MultiheadAttention, causal: bool = False) -> "Attention":
        """The explicit form of a self-attention, with copies of its weights; takes batch-first inputs."""
        attention = cls(fused.embed_dim, fused.num_heads, causal, fused.dropout, fused.in_proj_bias is not None)
        weights = fused.in_proj_weight.chunk(3)
        biases = fused.in_proj_bias.chunk(3) if fused.in_proj_bias is not None else (None,) * 3
        rows = [*zip(weights, biases, strict=True), (fused.out_proj.weight, fused.out_proj.bias)]
        projections = (attention.query, attention.key, attention.value, attention.out)
        for projection, (weight, bias) in zip(projections, rows, strict=True):
            projection.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
        return attention.to(fused.in_proj_weight)

    def forward(self, x: Tensor) -> Tensor:
        """Takes and returns (batch, positions, features)."""
        query, key, value = (
            projection(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        dropout = self.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))
