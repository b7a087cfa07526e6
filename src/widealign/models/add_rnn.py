"""The paper's recurrent network for the Add task."""

import torch
from torch import Tensor, nn

from widealign.models.activation import activation as activation_of
from widealign.nn import InitialState, Linear


class RecurrentCell(nn.Module):
    """h_k = σ(c W_h h_{k-1} + W_i x_k + b_h)."""

    def __init__(self, width: int, activation: str, parameterization: str, printed_align_ada: bool):
        super().__init__()
        self.input = Linear(1, width, bias=False, parameterize=parameterization)
        self.hidden = Linear(width, width, parameterize=parameterization)
        self.activation = activation_of(activation)
        # The printed variant's site is the whole cell: it is taught at its state, by what comes after this step only,
        # and passes the signal through its live activation. Otherwise W_i and W_h are two sites, taught before it.
        self.learning_site = self.taught_at_reentry = printed_align_ada

    def forward(self, state: Tensor, x: Tensor) -> Tensor:
        """The next state."""
        return self.activation(self.hidden(state) + self.input(x))


class AddRNN(nn.Module):
    """A recurrent cell with a trained initial state, read out linearly at every step."""

    def __init__(
        self,
        width: int,
        activation: str = "relu",
        parameterization: str = "ntk",
        rows: int = 50,
        printed_align_ada: bool = False,
    ):
        super().__init__()
        self.initial_state = InitialState(rows, width)
        self.cell = RecurrentCell(width, activation, parameterization, printed_align_ada)
        self.readout = Linear(width, 1, parameterize=parameterization)

    def forward(self, x: Tensor) -> Tensor:
        """Takes and returns (batch, steps)."""
        state, states = self.initial_state(len(x)), []
        for step in x.unsqueeze(-1).unbind(1):
            state = self.cell(state, step)
            states.append(state)
        return self.readout(torch.stack(states, 1)).squeeze(-1)


def add_rnn(
    width: int,
    activation: str = "relu",
    parameterization: str = "ntk",
    rows: int = 50,
    printed_align_ada: bool = False,
) -> AddRNN:
    """The paper's network for the Add task.

    Args:
        width: Size of the state.
        activation: `relu` in the paper.
        parameterization: `ntk` in the paper.
        rows: Rows of the trained initial state; the paper's batch size.
        printed_align_ada: Whether Align-ada teaches a state by the losses of later steps only, with the live
            activation's derivative: the variant that the paper's printed numbers come from. Other rules do not change.
    """
    return AddRNN(width, activation, parameterization, rows, printed_align_ada)
