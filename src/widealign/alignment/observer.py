"""What `widealign align` writes after each epoch: the scores of tables 3 to 5 and of figure 8."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from widealign.alignment.companion import Companion
from widealign.alignment.layers import as_rows, groups_of, measured, owner_of, site_of
from widealign.alignment.on_images import Images, score_images
from widealign.alignment.permuted import score_permuted
from widealign.alignment.probes import score_probe
from widealign.alignment.scores import score
from widealign.graph import replay
from widealign.nn import PaperLayer
from widealign.rules import model_of

_SCRIPT_SEED = 99
_TOLERANCE = 5e-4


class AlignmentObserver:
    """A companion beside a run of `widealign.train`, and its scores after each epoch.

    Each record is `{"kind": "alignment", "epoch", "layer", "score", "score_probe", "score_permuted"}`: the exact score
    of equation 13; the score that probes estimate, which for convolutions is that on whole images, as in the authors'
    scripts, and is then computed exactly; and the same of shuffled weights. A network with convolutions is measured at
    those, as in the paper, not at its readout.

    Args:
        learner: A learner of any rule; its weights now are W(0).
        optimizer: The one that trains it.
        seed: Of the probes, and of the permutations under the sound protocol.
        as_scripts: Shuffle once, with the random stream of the authors' scripts; otherwise take the mean over
            `permutations` shuffles.
        permutations: How many.
    """

    def __init__(
        self,
        learner: nn.Module,
        optimizer: Optimizer,
        *,
        seed: int = 0,
        as_scripts: bool = True,
        permutations: int = 10,
    ):
        self.companion = Companion(learner, optimizer)
        self._model = model_of(learner)
        layers = measured(self.companion.parameters)
        kernels = {layer: name for layer, name in layers.items() if self.companion.parameters[name].ndim == 4}
        self.layers = kernels or layers
        self._seed, self._as_scripts, self._permutations = seed, as_scripts, permutations
        self._images: dict[str, Images] = {}

    def before_update(self, batch: Any, output: Tensor) -> None:
        """Follow one step. `batch.inputs` are what the learner was called with."""
        if not self._images:
            self._images = input_images(self._model, batch.inputs[:2])
        self.companion.step()

    def records(self, epoch: int) -> Iterator[Mapping[str, Any]]:
        """One record for each layer."""
        learned, changes = self.companion.learned(), self.companion.changes()
        shuffle = _script_shuffle() if self._as_scripts else None
        for layer, name in self.layers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # an unchanged layer is null in the log
                scores = self._scores(name, epoch, layer, (learned[name], changes[name]), shuffle)
            yield {"kind": "alignment", "epoch": epoch, "layer": layer, **scores}

    def state_dict(self) -> dict[str, Any]:
        """The companion, and the layers' image sizes."""
        images = {name: [i.height, i.width, i.stride] for name, i in self._images.items()}
        return {"companion": self.companion.state_dict(), "images": images}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.companion.load_state_dict(state["companion"])
        self._images = {name: Images(height=h, width=w, stride=s) for name, (h, w, s) in state["images"].items()}

    def _scores(
        self, name: str, epoch: int, layer: int, both: tuple[Tensor, Tensor], shuffle: Callable[[Tensor], Tensor] | None
    ) -> dict[str, float]:
        estimate = self._estimator(name, 1000 * epoch + layer)
        module = owner_of(name, self._model)
        permuted = score_permuted(
            self.companion.parameters[name],
            self.companion.initial[name].detach(),
            both[1],
            permutations=1 if self._as_scripts else self._permutations,
            of=estimate,
            shuffle=shuffle,
            generator=torch.Generator().manual_seed(self._seed + layer),
        )
        return {
            "score": score(*(as_rows(change, module) for change in both), groups=groups_of(module), layer=name),
            "score_probe": estimate(*both),
            "score_permuted": permuted.mean,
        }

    def _estimator(self, name: str, number: int) -> Callable[[Tensor, Tensor], float]:
        site = site_of(name, self._images)
        if site is not None:
            return partial(score_images, images=self._images[site])

        def estimate(delta_w: Tensor, delta_w_star: Tensor) -> float:
            generator = torch.Generator().manual_seed(1_000_000 * self._seed + number)
            return score_probe(delta_w, delta_w_star, tolerance=_TOLERANCE, generator=generator).value

        return estimate


def input_images(model: nn.Module, x: Tensor) -> dict[str, Images]:
    """The size of the images that enter each of the paper's layers, by the layer's name, for inputs like `x`."""
    found: dict[str, Images] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            found[name] = Images(height=args[0].shape[2], width=args[0].shape[3], stride=module.conv.stride[0])

        return hook

    layers = [(name, m) for name, m in model.named_modules() if isinstance(m, PaperLayer)]
    handles = [layer.register_forward_hook(keep(name)) for name, layer in layers]
    try:
        with torch.no_grad():
            replay(model, {}, (x,), {})
    finally:
        for handle in handles:
            handle.remove()
    return found


def _script_shuffle() -> Callable[[Tensor], Tensor]:
    """As the scripts do it: NumPy's stream from seed 99, layer after layer, kernels in the order (k, k, in, out)."""
    stream = np.random.RandomState(_SCRIPT_SEED)

    def shuffle(weight: Tensor) -> Tensor:
        axes = (2, 3, 1, 0) if weight.ndim == 4 else (1, 0)
        order = torch.from_numpy(stream.permutation(weight.numel())).to(weight.device)
        turned = weight.permute(axes)
        return turned.flatten()[order].view(turned.shape).permute([axes.index(i) for i in range(weight.ndim)])

    return shuffle
