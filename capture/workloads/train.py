"""Trains a few iterations of a known model, plain or recorded by uvmcap_torch: what RUNBOOK.md captures.

    python3 train.py resnet152 --batch 32 --iterations 3 --record resnet152.jsonl
    python3 train.py word_lm --iterations 20            # plain: the time of an iteration, as JSON
    python3 train.py gpt2 --managed libmanaged.so       # on managed memory: also the first iteration, which touches
                                                        # all for the first time, and one whose memory is on the host

Inputs are random: what is touched and for how long does not depend on them.
"""
import argparse
import contextlib
import ctypes
import json
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import uvmcap_torch


class WordModel(torch.nn.Module):
    """pytorch/examples word_language_model: a two-layer LSTM of 200 units over WikiText-2's 33 278 words."""

    def __init__(self, words=33278, width=200):
        super().__init__()
        self.words = words
        self.drop = torch.nn.Dropout(0.2)
        self.encoder = torch.nn.Embedding(words, width)
        self.rnn = torch.nn.LSTM(width, width, 2, dropout=0.2)
        self.decoder = torch.nn.Linear(width, words)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.drop(self.encoder(tokens)))
        return self.decoder(self.drop(hidden)).view(-1, self.words)


def word_lm(device, batch):
    model = WordModel().to(device)
    tokens = torch.randint(model.words, (35, batch), device=device)
    targets = torch.randint(model.words, (35 * batch,), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return model, optimizer, lambda: torch.nn.functional.cross_entropy(model(tokens), targets)


def resnet152(device, batch):
    import torchvision
    model = torchvision.models.resnet152().to(device)
    images = torch.randn(batch, 3, 224, 224, device=device)
    labels = torch.randint(1000, (batch,), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, optimizer, lambda: torch.nn.functional.cross_entropy(model(images), labels)


def gpt2(device, batch):
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).to(device)
    tokens = torch.randint(50257, (batch, 1024), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
    return model, optimizer, lambda: model(input_ids=tokens, labels=tokens).loss


@contextlib.contextmanager
def managed_pool(library):
    """PyTorch's caching allocator over managed memory; libmanaged.so is managed_allocator.cpp."""
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "managed_malloc", "managed_free")
    pool = torch.cuda.MemPool(allocator.allocator())
    # A pool serves one thread: backward has to run on it.
    with torch.cuda.use_mem_pool(pool), torch.autograd.set_multithreading_enabled(False):
        yield


def mark(text):
    """For a preloaded libuvmevents.so."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).uvmevents_mark(text.encode())


MODELS = {"word_lm": (word_lm, 20), "resnet152": (resnet152, 32), "gpt2": (gpt2, 4)}


def measure(step, options):
    """Seconds of iterations whose memory is in place and, for managed memory, of iterations that bring it in."""
    first = step()
    step()
    times = [step() for _ in range(options.iterations)]
    result = {"iteration_s": statistics.median(times), "least_s": min(times), "most_s": max(times)}
    if options.managed:
        to_host = ctypes.CDLL(options.managed).managed_to_host
        to_host.restype = ctypes.c_uint64
        result |= {"first_iteration_s": first, "from_host_s": []}
        for i in range(min(3, options.iterations)):
            result["managed_bytes"] = to_host()
            mark(f"begin iteration {i}")
            result["from_host_s"].append(step())
            mark("end")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, help="samples of an iteration")
    parser.add_argument("--iterations", type=int, default=3, help="after two that warm up")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--record", metavar="FILE", help="record the iterations with uvmcap_torch")
    parser.add_argument("--managed", metavar="LIBRARY", help="train on managed memory (managed_allocator.cpp)")
    options = parser.parse_args()
    with managed_pool(options.managed) if options.managed else contextlib.nullcontext():
        train(options)


def train(options):
    make, batch = MODELS[options.model]
    batch = options.batch or batch
    torch.manual_seed(0)
    model, optimizer, loss = make(options.device, batch)

    def step():
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        if options.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    if options.record:
        step()
        step()
        with uvmcap_torch.record(options.record, model, optimizer) as recorder:
            for _ in range(options.iterations):
                recorder.iteration()
                step()
        return
    result = {"model": options.model, "batch": batch, "torch": str(torch.__version__), "device": options.device}
    result |= measure(step, options)
    if options.device == "cuda":
        result |= {"gpu": torch.cuda.get_device_name(0), "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
                   "peak_reserved_bytes": torch.cuda.max_memory_reserved()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
