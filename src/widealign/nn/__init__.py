"""Modules: parameterizations, the paper's layer, and open forms of torch's fused layers."""

from widealign.nn.attention import Attention
from widealign.nn.batch_axis_norm import BatchAxisNorm, gather_statistics
from widealign.nn.linear import Conv2d, Linear
from widealign.nn.paper_layer import Entry, InitialState, PaperLayer, SamePad2d
from widealign.nn.parameterization import NTK, STANDARD, Parameterization, parameterization
from widealign.nn.recurrent import GRU, LSTM, RNN

__all__ = [
    "GRU",
    "LSTM",
    "NTK",
    "RNN",
    "STANDARD",
    "Attention",
    "BatchAxisNorm",
    "Conv2d",
    "Entry",
    "InitialState",
    "Linear",
    "PaperLayer",
    "Parameterization",
    "SamePad2d",
    "gather_statistics",
    "parameterization",
]
