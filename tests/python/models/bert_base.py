"""BERT-base with its masked-token head, as modeling_bert.py of transformers has it."""
import math

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, HEADS, BATCH, LENGTH, TOKENS = 12, 768, 12, 32, 512, 30522


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(TOKENS, WIDTH, padding_idx=0)
        self.position_embeddings = nn.Embedding(512, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("position_ids", torch.arange(512).expand((1, -1)))

    def forward(self, ids, types):
        x = self.word_embeddings(ids) + self.token_type_embeddings(types)
        x = x + self.position_embeddings(self.position_ids[:, :ids.shape[1]])
        return self.dropout(self.LayerNorm(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.dense = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.dropout, self.out_dropout = nn.Dropout(0.1), nn.Dropout(0.1)
        self.LayerNorm = nn.LayerNorm(WIDTH)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS)
        probs = self.dropout(F.softmax(scores + mask, dim=-1))
        y = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous().view(x.shape)
        return self.LayerNorm(self.out_dropout(self.dense(y)) + x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.intermediate, self.output = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout, self.LayerNorm = nn.Dropout(0.1), nn.LayerNorm(WIDTH)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.LayerNorm(self.dropout(self.output(F.gelu(self.intermediate(x)))) + x)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.layer = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.transform, self.LayerNorm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.decoder = nn.Linear(WIDTH, TOKENS)
        self.decoder.weight = self.embeddings.word_embeddings.weight

    def forward(self, ids, types, mask):
        x = self.embeddings(ids, types)
        for layer in self.layer:
            x = layer(x, mask)
        return self.decoder(self.LayerNorm(F.gelu(self.transform(x))))


model = Bert()
optimizer = torch.optim.Adam(model.parameters())


def step():
    global output
    ids = torch.randint(0, TOKENS, (BATCH, LENGTH))
    types = torch.zeros(BATCH, LENGTH, dtype=torch.long)
    labels = torch.randint(0, TOKENS, (BATCH, LENGTH))
    mask = torch.zeros(BATCH, 1, 1, LENGTH)
    output = model(ids, types, mask)
    loss = F.cross_entropy(output.view(-1, TOKENS), labels.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
