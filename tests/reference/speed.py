# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of tests/reference/speed: the same training as trainer-speed, written as one would for speed.

The data are tensors in memory, batches are taken by index_select from a permutation, the optimizer is the foreach one,
gradients are set to None, and nothing is read back per step. For every line on standard input a fresh model is trained
and the steps per second of the timed steps are printed.
"""
import argparse
import sys
import time

import torch
import torch.nn.functional as F

import models


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="fc_1024")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    images, labels = models.load_train()
    batch = args.batch
    print("ready", flush=True)
    for _ in sys.stdin:
        torch.manual_seed(1)
        model = models.make_model(args.model)
        optimizer = models.make_optimizer(args.optimizer, model.parameters(), 0.01, 0.9)
        order, position = torch.randperm(len(labels)), 0
        for step in range(args.warmup + args.steps):
            if step == args.warmup:
                start = time.perf_counter()
            if position + batch > len(order):
                order, position = torch.cat((order[position:], torch.randperm(len(labels)))), 0
            indices = order[position:position + batch]
            position += batch
            loss = F.cross_entropy(model(images.index_select(0, indices)), labels.index_select(0, indices))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        print(args.steps / (time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
