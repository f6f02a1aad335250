"""Runs a few iterations of a known model, plain or recorded by uvmcap_torch: what RUNBOOK.md captures.

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


class Dlrm(torch.nn.Module):
    """facebookresearch/dlrm: 26 tables, of each of which a sample looks up one row; 13 dense features; products of pairs."""

    def __init__(self, rows=500_000, width=64, tables=26):
        super().__init__()
        self.rows = rows
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables))
        self.bottom = perceptron(13, 512, 256, width)
        self.top = perceptron(width + (tables + 1) * tables // 2, 512, 256, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, rows):
        features = [self.bottom(dense)] + [table(row.view(-1, 1)) for table, row in zip(self.tables, rows)]
        stacked = torch.stack(features, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([features[0], products], dim=1)).squeeze(1)


def perceptron(*widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def training(model, optimizer, loss):
    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return model, optimizer, step


def word_lm(device, batch):
    model = WordModel().to(device)
    tokens = torch.randint(model.words, (35, batch), device=device)
    targets = torch.randint(model.words, (35 * batch,), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return training(model, optimizer, lambda: torch.nn.functional.cross_entropy(model(tokens), targets))


def image_network(make, precision=None):
    """A network of torchvision that learns to tell 1000 classes of images; `precision`: autocast's."""
    def workload(device, batch):
        import torchvision
        model = getattr(torchvision.models, make)().to(device)
        images = torch.randn(batch, 3, 224, 224, device=device)
        labels = torch.randint(1000, (batch,), device=device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def loss():
            with torch.autocast(device, precision) if precision else contextlib.nullcontext():
                return torch.nn.functional.cross_entropy(model(images), labels)
        return training(model, optimizer, loss)
    return workload


def gpt2(device, batch):
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).to(device)
    tokens = torch.randint(50257, (batch, 1024), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
    return training(model, optimizer, lambda: model(input_ids=tokens, labels=tokens).loss)


def bert_large(device, batch):
    import transformers
    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                     intermediate_size=4096)
    model = transformers.BertForMaskedLM(config).to(device)
    tokens = torch.randint(config.vocab_size, (batch, 384), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    return training(model, optimizer, lambda: model(input_ids=tokens, labels=tokens).loss)


def dlrm(device, batch):
    model = Dlrm().to(device)
    dense = torch.randn(batch, 13, device=device)
    rows = torch.randint(model.rows, (len(model.tables), batch), device=device)
    clicks = torch.randint(2, (batch,), device=device).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return training(model, optimizer, lambda: torch.nn.functional.binary_cross_entropy_with_logits(
        model(dense, rows), clicks))


def llama(device, batch):
    """TinyLlama's shape in bfloat16, which reads a prompt of 1024 tokens and writes 16."""
    import transformers
    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                                      num_attention_heads=32, num_key_value_heads=4, vocab_size=32000)
    model = transformers.LlamaForCausalLM(config).to(device, torch.bfloat16).eval()
    prompt = torch.randint(config.vocab_size, (batch, 1024), device=device)

    @torch.no_grad()
    def step():
        tokens, cache = prompt, None
        for _ in range(16):
            result = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
            tokens, cache = result.logits[:, -1:].argmax(-1), result.past_key_values
    return model, None, step


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


# And the samples of an iteration.
MODELS = {"word_lm": (word_lm, 20), "resnet152": (image_network("resnet152"), 32), "gpt2": (gpt2, 4),
          "vgg16": (image_network("vgg16"), 32), "vit_b_16": (image_network("vit_b_16", torch.bfloat16), 32),
          "efficientnet_b0": (image_network("efficientnet_b0"), 64), "bert_large": (bert_large, 8),
          "dlrm": (dlrm, 2048), "llama": (llama, 4)}


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
    parser.add_argument("--managed", metavar="LIBRARY", help="on managed memory (managed_allocator.cpp)")
    options = parser.parse_args()
    with managed_pool(options.managed) if options.managed else contextlib.nullcontext():
        run(options)


def run(options):
    make, batch = MODELS[options.model]
    batch = options.batch or batch
    torch.manual_seed(0)
    model, optimizer, iterate = make(options.device, batch)

    def step():
        begin = time.perf_counter()
        iterate()
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
