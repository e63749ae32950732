"""Data, network and training loop: draws come from generators of the app's own."""

import torch
from sklearn.datasets import load_digits
from torch import nn

TEST_EXAMPLES, BATCH_SIZE = 297, 32


def build_network(seed: int) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 10))


def load_images() -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)


def load_client(partition_id: int, num_partitions: int) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = load_images()
    own = slice(TEST_EXAMPLES + partition_id, None, num_partitions)
    return images[own], labels[own]


def load_test() -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = load_images()
    return images[:TEST_EXAMPLES], labels[:TEST_EXAMPLES]


def fit(
    net: nn.Module, images: torch.Tensor, labels: torch.Tensor, lr: float, epochs: int, generator: torch.Generator
) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    net.train()
    losses = []
    for _ in range(epochs):
        for batch in torch.randperm(len(labels), generator=generator).split(BATCH_SIZE):
            if len(batch) > 1:  # there is no variance in a batch of one
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(images[batch]), labels[batch])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def test(net: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    net.eval()
    scores = net(images)
    loss = nn.functional.cross_entropy(scores, labels).item()
    return loss, (scores.argmax(dim=1) == labels).float().mean().item()
