"""Four small programs of PyTorch that move data between host and GPU, and between GPUs, as large ones do.

    byteways watch -- python examples/watch/train_step.py
    byteways watch -- python -m torch.distributed.run --nproc-per-node 2 examples/watch/train_step.py

`train` copies a batch of pageable host memory to the GPU in each step, sums the gradients of all ranks, and
keeps the momentum of its optimiser in host memory. `infer` has its weights in host memory and copies each
layer before its use. `swap` moves blocks of a cache to host memory and back. `load` copies a whole model.
Host memory is pageable: `byteways watch --try pinned` shows what pinned memory would gain. With --pinned it
is page-locked, so that `--try copies` has something to do. Without a GPU everything runs on the CPU.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist

#: Values of one block of the swapped cache; vLLM's blocks of 16 tokens have some 32 KiB a layer.
BLOCK_VALUES = 16 * 1024
BLOCKS = 256


def device_of_rank() -> torch.device:
    """Returns the GPU of this rank, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def in_host(tensor: torch.Tensor, options: argparse.Namespace) -> torch.Tensor:
    """Returns a tensor of host memory, page-locked if that is asked for and there is a GPU."""
    return tensor.pin_memory() if options.pinned and torch.cuda.is_available() else tensor


def layers(count: int, width: int, device: torch.device) -> list[torch.Tensor]:
    """Returns square weights, the same on every rank."""
    generator = torch.Generator().manual_seed(1)
    scale = width**-0.5
    return [(torch.randn(width, width, generator=generator) * scale).to(device) for _ in range(count)]


def train(options: argparse.Namespace, device: torch.device) -> float:
    """Returns the loss of the last step."""
    weights = [one.requires_grad_() for one in layers(options.layers, options.width, device)]
    momenta = [in_host(torch.zeros(one.shape), options) for one in weights]  # in host memory
    batches = in_host(torch.randn(4, options.batch, options.width), options)
    loss = torch.zeros(())
    for step in range(options.steps):
        values = batches[step % len(batches)].to(device)
        for weight in weights:
            values = torch.relu(values @ weight)
        loss = values.square().mean()
        gradients = torch.autograd.grad(loss, weights)
        for weight, gradient, momentum in zip(weights, gradients, momenta, strict=True):
            if dist.is_initialized():
                dist.all_reduce(gradient)
            on_device = momentum.to(device)
            on_device.mul_(0.9).add_(gradient)
            weight.data.add_(on_device, alpha=-0.01)
            momentum.copy_(on_device)
    return float(loss)


def infer(options: argparse.Namespace, device: torch.device) -> float:
    """Returns the mean of the last output."""
    weights = [in_host(one, options) for one in layers(options.layers, options.width, torch.device("cpu"))]
    values = torch.ones(options.batch, options.width, device=device)
    for _ in range(options.steps):
        for weight in weights:
            values = torch.tanh(values @ weight.to(device))
    return float(values.mean())


def swap(options: argparse.Namespace, device: torch.device) -> float:
    """Returns the sum of the cache, which is what it was."""
    cache = torch.ones(BLOCKS, BLOCK_VALUES, device=device)
    host = in_host(torch.empty(BLOCKS, BLOCK_VALUES), options)
    for _ in range(options.steps):
        for block in range(BLOCKS):
            host[block].copy_(cache[block])
        cache.zero_()
        for block in range(BLOCKS):
            cache[block].copy_(host[block])
    return float(cache.sum())


def load(options: argparse.Namespace, device: torch.device) -> float:
    """Returns the sum of the model's weights."""
    weights = [in_host(one, options) for one in layers(options.layers, options.width, torch.device("cpu"))]
    total = 0.0
    for _ in range(options.steps):
        model = [one.to(device) for one in weights]
        total = float(sum(one.sum() for one in model))
    return total


PROGRAMS = {"train": train, "infer": infer, "swap": swap, "load": load}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", nargs="?", choices=[*PROGRAMS], default="train")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--pinned", action="store_true", help="host memory is page-locked")
    options = parser.parse_args()
    device = device_of_rank()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    result = PROGRAMS[options.program](options, device)
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"{options.program} on {device.type}: {result:.6g}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
