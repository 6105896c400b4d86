# SPDX-License-Identifier: Apache-2.0
"""Repeats with Python's PyTorch what trainer-dump did, from the same initial weights and batches, and compares.

The parameters after the last step must agree within --tolerance of the largest change that training made to them, parameter
by parameter. Prints the largest such difference.
"""
import argparse
import os
import sys

import numpy
import torch
import torch.nn.functional as F

import models


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--optimizer", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight_decay", type=float, default=0)
    parser.add_argument("--label_smoothing", type=float, default=0)
    parser.add_argument("--gradient_clip", type=float, default=0)
    parser.add_argument("--schedule", default="constant")
    parser.add_argument("--warmup_steps", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    args = parser.parse_args()
    torch.set_num_threads(2)
    images, labels = models.load_train()
    model = models.make_model(args.model)

    def dumped(name, like):
        values = numpy.fromfile(os.path.join(args.dump, name), dtype=numpy.float32)
        return torch.from_numpy(values).reshape(like.shape)

    parameters = list(model.parameters())
    with torch.no_grad():
        for i, parameter in enumerate(parameters):
            parameter.copy_(dumped(f"before.{i}", parameter))
    batches = torch.from_numpy(numpy.fromfile(os.path.join(args.dump, "batches"), dtype=numpy.int64)).reshape(-1, args.batch)
    optimizer = models.make_optimizer(args.optimizer, parameters, args.learning_rate, args.momentum, args.weight_decay)
    steps = len(batches)

    def factor(update):
        if update < args.warmup_steps:
            return (update + 1) / args.warmup_steps
        if args.schedule.endswith("linear"):
            return 1 - (update - args.warmup_steps) / (steps - args.warmup_steps)
        return 1.0

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for indices in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(images[indices]), labels[indices], label_smoothing=args.label_smoothing).backward()
        if args.gradient_clip > 0:
            torch.nn.utils.clip_grad_norm_(parameters, args.gradient_clip)
        optimizer.step()
        schedule.step()

    worst = 0.0
    for i, parameter in enumerate(parameters):
        ours = dumped(f"after.{i}", parameter)
        moved = (ours - dumped(f"before.{i}", parameter)).abs().max().item()
        if moved == 0:
            sys.exit(f"parameter {i} did not move")
        worst = max(worst, (parameter.detach() - ours).abs().max().item() / moved)
    print(f"{worst:.1e}")
    if not worst <= args.tolerance:
        sys.exit(f"differs by {worst:.1e} of what training changed; at most {args.tolerance:.0e} is allowed")


if __name__ == "__main__":
    main()
