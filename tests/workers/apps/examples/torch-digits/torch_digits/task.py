"""Data, network and training loop."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TEST_EXAMPLES = 297


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(64, 32)
        self.output = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.pool(torch.relu(self.conv(images))).flatten(start_dim=1)
        return self.output(torch.relu(self.hidden(features)))


def load_images() -> TensorDataset:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    return TensorDataset(images, torch.tensor(digits.target))


def load_client(partition_id: int, num_partitions: int, batch_size: int) -> DataLoader:
    images, labels = load_images().tensors
    own = slice(TEST_EXAMPLES + partition_id, None, num_partitions)
    return DataLoader(TensorDataset(images[own], labels[own]), batch_size=batch_size, shuffle=True)


def load_test() -> DataLoader:
    images, labels = load_images().tensors
    return DataLoader(TensorDataset(images[:TEST_EXAMPLES], labels[:TEST_EXAMPLES]), batch_size=128)


def fit(net: nn.Module, loader: DataLoader, epochs: int, lr: float, momentum: float) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    net.train()
    total = 0.0
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total / (epochs * len(loader))


@torch.no_grad()
def test(net: nn.Module, loader: DataLoader) -> tuple[float, float]:
    net.eval()
    loss, correct = 0.0, 0
    for images, labels in loader:
        scores = net(images)
        loss += nn.functional.cross_entropy(scores, labels, reduction="sum").item()
        correct += int((scores.argmax(dim=1) == labels).sum())
    return loss / len(loader.dataset), correct / len(loader.dataset)
