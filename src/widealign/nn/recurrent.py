"""Recurrent layers unrolled in Python: drop-in forms of torch's fused ones, whose weights are sites."""

from typing import Any

import torch
from torch import Tensor, nn

State = Any  # a tensor, or a tuple (h, c) for the LSTM


class _Cell(nn.Module):
    gates: int

    def __init__(self, input_size: int, hidden_size: int, bias: bool):
        super().__init__()
        self.input = nn.Linear(input_size, self.gates * hidden_size, bias)
        self.hidden = nn.Linear(hidden_size, self.gates * hidden_size, bias)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def initial(self, zeros: Tensor) -> State:
        return zeros

    def output(self, state: Any) -> Tensor:
        return state


class _RNNCell(_Cell):
    gates = 1

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(self.input(x) + self.hidden(h))


class _ReLUCell(_Cell):
    gates = 1

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.relu(self.input(x) + self.hidden(h))


class _GRUCell(_Cell):
    gates = 3

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        (reset, update, new), (reset_h, update_h, new_h) = self.input(x).chunk(3, -1), self.hidden(h).chunk(3, -1)
        gate = torch.sigmoid(update + update_h)
        return (1 - gate) * torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h) + gate * h


class _LSTMCell(_Cell):
    gates = 4

    def initial(self, zeros: Tensor) -> State:
        return zeros, zeros

    def output(self, state: Any) -> Tensor:
        return state[0]

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        h, c = state
        enter, forget, cell, leave = (self.input(x) + self.hidden(h)).chunk(4, -1)
        c = torch.sigmoid(forget) * c + torch.sigmoid(enter) * torch.tanh(cell)
        return torch.sigmoid(leave) * torch.tanh(c), c


class RNN(nn.Module):
    """`torch.nn.RNN`, unrolled. Takes its arguments, gives its outputs; `from_fused` takes over its weights."""

    cell: type[_Cell] = _RNNCell
    fused: type[nn.RNNBase] = nn.RNN

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__()
        cell = _ReLUCell if self.cell is _RNNCell and nonlinearity == "relu" else self.cell
        self.hidden_size, self.batch_first, self.directions = hidden_size, batch_first, 1 + bidirectional
        sizes = [input_size] + [hidden_size * self.directions] * (num_layers - 1)
        self.cells = nn.ModuleList(cell(size, hidden_size, bias) for size in sizes for _ in range(self.directions))
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def from_fused(cls, fused: nn.RNNBase) -> "RNN":
        """The unrolled form of a fused layer, with copies of its weights."""
        choices: dict[str, Any] = {
            name: getattr(fused, name) for name in ("bias", "batch_first", "dropout", "bidirectional")
        }
        if isinstance(fused, nn.RNN):
            choices["nonlinearity"] = fused.nonlinearity
        unrolled = cls(fused.input_size, fused.hidden_size, fused.num_layers, **choices)
        rows = iter(fused.all_weights)
        for cell, (input_weight, hidden_weight, *biases) in zip(unrolled.cells, rows, strict=True):
            sources = {"input.weight": input_weight, "hidden.weight": hidden_weight}
            sources |= dict(zip(("input.bias", "hidden.bias"), biases, strict=False))
            cell.load_state_dict(sources)
        return unrolled.to(fused.all_weights[0][0])

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Outputs of the last layer at every step, and the last state of every layer and direction."""
        steps = list(x.unbind(1 if self.batch_first else 0))
        starts, ends = self._starts(steps[0], state), []
        for layer in range(0, len(self.cells), self.directions):
            columns = []
            for direction in range(self.directions):
                outputs, end = self._scan(layer + direction, steps[::-1] if direction else steps, starts)
                columns.append(outputs[::-1] if direction else outputs)
                ends.append(end)
            steps = [torch.cat(column, -1) if len(column) > 1 else column[0] for column in zip(*columns, strict=True)]
            if layer + self.directions < len(self.cells):
                steps = [self.dropout(step) for step in steps]
        last = tuple(map(torch.stack, zip(*ends, strict=True))) if isinstance(ends[0], tuple) else torch.stack(ends)
        return torch.stack(steps, 1 if self.batch_first else 0), last

    def _scan(self, index: int, steps: list[Tensor], starts: list[Any]) -> tuple[list[Tensor], Any]:
        cell: Any = self.cells[index]
        state, outputs = starts[index], []
        for step in steps:
            state = cell(step, state)
            outputs.append(cell.output(state))
        return outputs, state

    def _starts(self, step: Tensor, state: State | None) -> list[Any]:
        if state is None:
            zeros = step.new_zeros(*step.shape[:-1], self.hidden_size)
            cells: Any = self.cells
            return [cell.initial(zeros) for cell in cells]
        return list(zip(*state, strict=True)) if isinstance(state, tuple) else list(state)


class GRU(RNN):
    """`torch.nn.GRU`, unrolled."""

    cell = _GRUCell
    fused = nn.GRU


class LSTM(RNN):
    """`torch.nn.LSTM`, unrolled."""

    cell = _LSTMCell
    fused = nn.LSTM
