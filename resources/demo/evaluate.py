#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Held-out perplexity of the exported BF16 model, against bigram models.

Both score the same tokens of heldout.txt with the same tokenizer.  The bigram
models are counted on the model's training tokens, and their smoothing is tuned
on the held-out text itself, which can only flatter them.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

from train import CONFIG, Llama, encode

VOCABULARY = CONFIG["vocab_size"]


def load_model(folder: Path) -> Llama:
    """The model as it is in the file: BF16 weights, computed in FP32."""
    tensors = load_file(folder / "model.safetensors")
    model = Llama(CONFIG)
    model.load_state_dict({name.removeprefix("model."): t.float()
                           for name, t in tensors.items()})
    return model


@torch.no_grad()
def model_loss(model, tokens, length):
    """Total loss and token count over windows that do not overlap.

    A token's context is what precedes it in its window: 1 to `length` tokens.
    """
    total = 0.0
    for start in range(0, len(tokens) - 1, length):
        block = torch.from_numpy(tokens[start:start + length + 1].astype(np.int64))[None]
        total += F.cross_entropy(model(block[:, :-1])[0], block[0, 1:], reduction="sum").item()
    return total, len(tokens) - 1


def bigram_counts(tokens):
    pairs = tokens[:-1].astype(np.int64) * VOCABULARY + tokens[1:]
    return np.bincount(pairs, minlength=VOCABULARY**2).reshape(VOCABULARY, VOCABULARY)


def kneser_ney(counts, first, second):
    """Interpolated Kneser-Ney; the discount is chosen on the scored pairs."""
    total = counts.sum(1)
    followers = (counts > 0).sum(1)
    # Continuation probability, with a little mass for tokens never seen second.
    continuation = (counts > 0).sum(0) + 0.5
    continuation = continuation / continuation.sum()
    best = (math.inf, None)
    for discount in np.arange(0.4, 1.0, 0.05):
        seen = np.maximum(counts[first, second] - discount, 0)
        denominator = np.maximum(total[first], 1)
        backoff = np.where(total[first] > 0, discount * followers[first] / denominator, 1)
        p = seen / denominator + backoff * continuation[second]
        best = min(best, (math.exp(-np.log(p).mean()), round(float(discount), 2)))
    return best


def add_k(counts, first, second):
    """Add-k towards the unigram distribution; k is chosen on the scored pairs."""
    total = counts.sum(1)
    unigram = (counts.sum(0) + 0.5) / (counts.sum() + 0.5 * VOCABULARY)
    best = (math.inf, None)
    for k in (1, 3, 10, 30, 100, 200, 400, 800, 1600, 3200):
        p = (counts[first, second] + k * unigram[second]) / (total[first] + k)
        best = min(best, (math.exp(-np.log(p).mean()), k))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that corpus.py and train.py wrote")
    parser.add_argument("model", type=Path, help="folder of the model")
    parser.add_argument("--length", type=int, default=512)
    args = parser.parse_args()
    torch.set_num_threads(2)

    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    text = (args.corpus / "heldout.txt").read_text()
    tokens = encode(tokenizer, [text])
    model = load_model(args.model)
    loss, count = model_loss(model, tokens, args.length)
    short_loss, _ = model_loss(model, tokens, 256)

    training = np.load(args.corpus / "train.npy")
    counts = bigram_counts(training)
    first, second = tokens[:-1].astype(np.int64), tokens[1:].astype(np.int64)
    unigram = (counts.sum(0) + 0.5) / (counts.sum() + 0.5 * VOCABULARY)
    kn, discount = kneser_ney(counts, first, second)
    addk, k = add_k(counts, first, second)

    result = {
        "heldout_perplexity": round(math.exp(loss / count), 3),
        "bigram_perplexity": round(min(kn, addk), 3),
        "tokens": count,
        "context": args.length,
        "heldout_perplexity_context_256": round(math.exp(short_loss / count), 3),
        "bigram_kneser_ney_perplexity": round(kn, 3),
        "bigram_kneser_ney_discount": discount,
        "bigram_add_k_perplexity": round(addk, 3),
        "bigram_add_k": k,
        "unigram_perplexity": round(math.exp(-np.log(unigram[second]).mean()), 3),
        "bits_per_byte": round(loss / math.log(2) / len(text.encode()), 4),
        "heldout_bytes": len(text.encode()),
        "bigram_training_tokens": len(training),
    }
    (args.model / "evaluation.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
