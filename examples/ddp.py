"""Several devices: `torchrun --nproc-per-node 2 examples/ddp.py`. The rule lives in the graph, so DDP's hooks fire."""

import gc
import inspect
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import widealign


def train():
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")

    torch.manual_seed(0)
    model = widealign.models.mlp(20, widths=(256, 256), num_classes=3).to(device)
    learner = widealign.AlignAda(model)
    # The frozen copy is a buffer: it travels once, from rank 0, and need not be sent again at every step.
    new = "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
    parallel = DistributedDataParallel(learner, **{"forward_sync_buffers" if new else "broadcast_buffers": False})
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)

    x = torch.randn(400, 20)
    y = (x @ torch.randn(20, 3)).argmax(1)
    x, y = x[rank::size].to(device), y[rank::size].to(device)
    for _ in range(60):
        loss = nn.functional.cross_entropy(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    total = sum(p.detach().double().sum() for p in model.parameters())
    totals = [torch.zeros_like(total) for _ in range(size)]
    dist.all_gather(totals, total)
    if rank == 0:
        print(f"loss {loss.item():.3f}; the same weights on all {size} ranks: {len({t.item() for t in totals}) == 1}")


def main():
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    train()
    gc.collect()  # what DistributedDataParallel holds of the group goes before the group does
    dist.barrier()  # and nobody leaves while others still talk
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
