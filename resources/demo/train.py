#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Train the demo model: a small Llama on the text that corpus.py collected.

The run is bounded by wall time: the learning rate follows the share of
--minutes that has passed, so the model ends annealed however busy the machine
is.  Seeds are fixed; the number of steps, and with it the exact weights, still
depends on the machine's speed.
"""

import argparse
import csv
import json
import math
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

SEED = 20261130
END_OF_TEXT = "<|endoftext|>"

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "intermediate_size": 768,
    "vocab_size": 4096,
    "max_position_embeddings": 512,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "mlp_bias": False,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "use_cache": True,
    "torch_dtype": "bfloat16",
}


# -------------------------------------------------------------------- model --

class RmsNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


def rotate(x, cos, sin):
    """RoPE in the Hugging Face pairing: channel i turns with channel i + d/2."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.head_dim = c["head_dim"]
        width, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        self.q_proj = nn.Linear(c["hidden_size"], width, bias=False)
        self.k_proj = nn.Linear(c["hidden_size"], kv, bias=False)
        self.v_proj = nn.Linear(c["hidden_size"], kv, bias=False)
        self.o_proj = nn.Linear(width, c["hidden_size"], bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        # Query heads 0 and 1 share key head 0, heads 2 and 3 share key head 1.
        groups = self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.up_proj = nn.Linear(c["hidden_size"], c["intermediate_size"], bias=False)
        self.down_proj = nn.Linear(c["intermediate_size"], c["hidden_size"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = Mlp(c)
        self.input_layernorm = RmsNorm(c["hidden_size"], c["rms_norm_eps"])
        self.post_attention_layernorm = RmsNorm(c["hidden_size"], c["rms_norm_eps"])

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Llama with a tied head; module names give the Hugging Face tensor names."""

    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = RmsNorm(c["hidden_size"], c["rms_norm_eps"])
        for name, p in self.named_parameters():
            if p.dim() == 2:
                # The two projections that write into the residual stream start
                # smaller, so that its size does not grow with the layer count.
                residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                scale = (2 * c["num_hidden_layers"]) ** -0.5 if residual else 1.0
                nn.init.normal_(p, std=c["initializer_range"] * scale)
        half = c["head_dim"] // 2
        frequency = c["rope_theta"] ** (-torch.arange(half).double() / half)
        angle = torch.arange(c["max_position_embeddings"]).double()[:, None] * frequency
        angle = torch.cat((angle, angle), dim=-1)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.linear(self.norm(x), self.embed_tokens.weight)


def export(model, folder: Path):
    """Write the weights in BF16; the file appears whole or not at all."""
    tensors = {f"model.{name}": p.detach().to(torch.bfloat16).contiguous()
               for name, p in model.named_parameters()}
    save_file(tensors, folder / "model.safetensors.new", metadata={"format": "pt"})
    (folder / "model.safetensors.new").rename(folder / "model.safetensors")


# --------------------------------------------------------------------- data --

def train_tokenizer(documents, path: Path):
    """Byte-level BPE with the GPT-2 pre-tokenizer; every byte has a token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(documents, trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"], special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    assert tokenizer.get_vocab_size() == CONFIG["vocab_size"]
    tokenizer.save(str(path))


def encode(tokenizer, documents):
    """Token ids of all documents, each after one end-of-text token."""
    end = tokenizer.token_to_id(END_OF_TEXT)
    out = []
    for i in range(0, len(documents), 256):
        for encoding in tokenizer.encode_batch(documents[i:i + 256]):
            out.append(np.array([end, *encoding.ids], dtype=np.uint16))
    return np.concatenate(out)


def windows(tokens, length, batch, rng):
    """Endless batches: every epoch cuts the text anew and shuffles the pieces."""
    while True:
        offset = int(rng.integers(length))
        starts = np.arange(offset, len(tokens) - length - 1, length)
        rng.shuffle(starts)
        for i in range(0, len(starts) - batch + 1, batch):
            block = np.stack([tokens[s:s + length + 1] for s in starts[i:i + batch]])
            block = torch.from_numpy(block.astype(np.int64))
            yield block[:, :-1], block[:, 1:]


# ---------------------------------------------------------------- optimizer --

def orthogonalize(matrices):
    """Move the singular values of a stack of matrices towards 1.

    Five steps of the Newton-Schulz iteration with Keller Jordan's coefficients.
    """
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x


class Muon:
    """Momentum with orthogonalized updates, for the matrices of the layers.

    The run is short of tokens, not of memory; Muon learns clearly more from
    each token than AdamW does, for a fifth more arithmetic.
    """

    def __init__(self, parameters, momentum=0.95, weight_decay=0.05):
        self.momentum, self.weight_decay = momentum, weight_decay
        self.groups = {}
        for p in parameters:
            # Matrices of one shape go together, lying flat: a batched product
            # is much faster than many small ones.
            shape = (min(p.shape), max(p.shape))
            self.groups.setdefault(shape, []).append(p)
        self.buffers = {shape: torch.zeros(len(ps), *shape)
                        for shape, ps in self.groups.items()}

    @torch.no_grad()
    def step(self, rate):
        rank, workers = dist.get_rank(), dist.get_world_size()
        for shape, parameters in self.groups.items():
            gradient = torch.stack([p.grad if p.shape == shape else p.grad.T
                                    for p in parameters])
            buffer = self.buffers[shape]
            buffer.lerp_(gradient, 1 - self.momentum)
            # The gradients are the same in all workers; each does its part of
            # the stack and leaves zeros elsewhere, so that a sum completes it.
            update = torch.zeros_like(gradient)
            part = gradient.lerp(buffer, self.momentum)[rank::workers]
            update[rank::workers] = orthogonalize(part)
            dist.all_reduce(update)
            for p, u in zip(parameters, update):
                u = u if p.shape == shape else u.T
                # A tall matrix needs the longer step for the same effect.
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - rate * self.weight_decay)
                p.add_(u, alpha=-rate * scale)


# ----------------------------------------------------------------- training --

@torch.no_grad()
def heldout_loss(model, tokens, length, count=16):
    """Mean loss per token over a few windows spread over the held-out text.

    A sample for the log, cheap enough to repeat; evaluate.py measures them all.
    """
    total = 0.0
    for start in np.linspace(0, len(tokens) - length - 1, count).astype(int):
        block = torch.from_numpy(tokens[start:start + length + 1].astype(np.int64))[None]
        total += F.cross_entropy(model(block[:, :-1])[0], block[0, 1:]).item()
    return total / count


def learning_rate(progress, warmup=0.02, floor=0.02):
    """Share of the peak rate: linear warm-up, then a cosine down to the floor."""
    progress = min(progress, 1)
    if progress < warmup:
        return 0.02 + 0.98 * progress / warmup
    cosine = 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))
    return floor + (1 - floor) * cosine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that corpus.py wrote")
    parser.add_argument("out", type=Path, help="folder for the model")
    parser.add_argument("--minutes", type=float, default=52)
    parser.add_argument("--total-tokens", type=float, default=math.inf,
                        help="end after this many tokens, if the time lasts")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens per step")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--peak", type=float, default=3e-3,
                        help="peak learning rate of AdamW (embedding and norms)")
    parser.add_argument("--muon-peak", type=float, default=0.015,
                        help="peak learning rate of Muon (matrices of the layers)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--initial", type=Path,
                        help="weights to start from: the export of a run cut short")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    prepare(args)
    # Workers with one thread each meet once or twice a step; the threads of one
    # process meet at every operation, which is very slow on a busy machine.
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (args, f"file://{folder}/meet"), args.workers)


def prepare(args):
    """Train the tokenizer and encode the training text, where not yet done."""

    documents = (args.corpus / "train.txt").read_text().split("\0")
    path = args.out / "tokenizer.json"
    if not path.exists():
        train_tokenizer(documents, path)
    cache = args.corpus / "train.npy"
    if not cache.exists():
        np.save(cache, encode(Tokenizer.from_file(str(path)), documents))


def train(rank, args, meeting_point):
    """One worker: its share of every batch, the same weights as the others."""
    dist.init_process_group("gloo", init_method=meeting_point, rank=rank,
                            world_size=args.workers)
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    chief = rank == 0
    tokenizer = Tokenizer.from_file(str(args.out / "tokenizer.json"))
    train_tokens = np.load(args.corpus / "train.npy")
    heldout_tokens = encode(tokenizer, [(args.corpus / "heldout.txt").read_text()])
    model = Llama(CONFIG)
    if args.initial:
        model.load_state_dict({name.removeprefix("model."): t.float()
                               for name, t in load_file(args.initial).items()})
    parameters = list(model.parameters())
    matrices = [p for name, p in model.layers.named_parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    muon = Muon(matrices)
    # Norm weights are kept out of the weight decay, which would pull them to 0.
    adamw = torch.optim.AdamW(
        [{"params": [model.embed_tokens.weight], "weight_decay": 0.1},
         {"params": vectors, "weight_decay": 0.0}],
        lr=args.peak, betas=(0.9, 0.95), fused=True)

    if chief:
        (args.out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
        print(f"{sum(p.numel() for p in parameters)} weights, {len(train_tokens)} training "
              f"tokens, {len(heldout_tokens)} held-out tokens", flush=True)
        log = (args.out / "training_log.csv").open("w", newline="")
        writer = csv.writer(log)
        writer.writerow(["step", "train_loss", "heldout_loss", "learning_rate", "tokens",
                         "seconds"])
    rng = np.random.default_rng(SEED + rank)
    # Long windows cost more per token; the end of the run is enough to learn
    # the positions that only they have.
    share = args.tokens // args.workers
    short = windows(train_tokens, args.length // 2, share // (args.length // 2), rng)
    full = windows(train_tokens, args.length, share // args.length, rng)
    recent = []
    started = saved = measured = time.monotonic()
    step, rate, progress = 0, 0.0, 0.0
    while True:
        now = time.monotonic()
        last = progress >= 1
        if chief and (last or now - measured > 180 or step == 0):
            heldout = heldout_loss(model, heldout_tokens, args.length)
            row = [step, f"{np.mean(recent or [heldout]):.4f}", f"{heldout:.4f}",
                   f"{rate * args.peak:.6f}", step * args.tokens, f"{now - started:.0f}"]
            writer.writerow(row)
            log.flush()
            print(*row, flush=True)
            recent, measured = [], now
        if chief and (last or now - saved > 240):
            export(model, args.out)
            saved = now
        if last:
            break
        x, y = next(short if progress < 0.8 else full)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        model.zero_grad(set_to_none=True)
        loss.backward()
        # One sum carries the gradients, the loss and the clock, so that all
        # workers follow the same schedule.
        elapsed = torch.tensor([loss.item(), time.monotonic() - started])
        flat = torch.cat([p.grad.flatten() for p in parameters] + [elapsed])
        dist.all_reduce(flat)
        flat /= args.workers
        for p, g in zip(parameters, flat[:-2].split([p.numel() for p in parameters])):
            p.grad = g.view_as(p)
        # Whichever runs out first: the time, or the tokens asked for.
        progress = max(flat[-1].item() / (60 * args.minutes),
                       (step + 1) * args.tokens / args.total_tokens)
        recent.append(flat[-2].item())
        rate = learning_rate(progress)
        for group in adamw.param_groups:
            group["lr"] = rate * args.peak
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adamw.step()
        muon.step(rate * args.muon_peak)
        step += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
